// Entropy values as people read and write them, the same as mrcctl's: a source port (49152), or a flow label with a
// source port (0x0003:49152). In traces they are one number: the label in the upper half, the port in the lower.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mrc::log {

// Which entropy values --ev means. A label or a port alone is one number below 65536; which of the two it is shows with
// each value: those of one device either all have a label or none has.
struct EvFilter {
  uint64_t value = 0;
  bool matches(uint64_t ev) const { return ev == value || (value <= 0xFFFF && ev >> 16 == value); }
};

// "49152", "0x0003", "0x0003:49152", and both halves as one number, 0x0003c000. None for what is no EV.
std::optional<EvFilter> parse_ev(const std::string& text);

}  // namespace mrc::log
