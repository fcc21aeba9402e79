// A range of UDP ports, of which consecutive parts of equal size stand for paths [MRC-SR-25, spec/srv6.md].
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mrc::datapath {

struct PortRange {
  uint16_t first = 0, last = 0;  // both inclusive

  uint32_t size() const { return uint32_t{last} - first + 1; }
  bool contains(uint16_t port) const { return port >= first && port <= last; }
  // Part `n` of `parts`, which are 1 to size(); what does not divide is left over at the end.
  PortRange part(uint32_t n, uint32_t parts) const;
};

// "FIRST-LAST", 1024 to 65535; none for other texts.
std::optional<PortRange> parse_port_range(const std::string& text);

}  // namespace mrc::datapath
