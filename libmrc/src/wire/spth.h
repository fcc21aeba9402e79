// SPTH, 76 bytes, behind a PLTH: one part of the list of UDP source ports from which an endpoint sends on one plane
// [MRC-EXT-8..9, spec/wire.md]. In a request only `first` counts; it has the same size as the response.
#pragma once

#include <array>
#include <cstdint>

#include "wire/bytes.h"

namespace mrc::wire {

struct Spth {
  static constexpr uint32_t kPorts = 34;  // in one part
  static constexpr uint32_t kSize = 8 + 2 * kPorts;

  uint16_t total = 0;  // ports of the plane
  uint16_t first = 0;  // index of ports[0] among them
  uint32_t set = 0;    // differs between lists that differ, of any plane: parts of one value belong together
  std::array<uint16_t, kPorts> ports{};  // ascending; those beyond `total` are 0

  void encode(uint8_t* p) const {
    put16(p, total);
    put16(p + 2, first);
    put32(p + 4, set);
    for (uint32_t i = 0; i < kPorts; ++i) put16(p + 8 + 2 * i, ports[i]);
  }
  static Spth decode(const uint8_t* p) {
    Spth h;
    h.total = get16(p);
    h.first = get16(p + 2);
    h.set = get32(p + 4);
    for (uint32_t i = 0; i < kPorts; ++i) h.ports[i] = get16(p + 8 + 2 * i);
    return h;
  }
};

static_assert(sizeof(Spth) == Spth::kSize);

}  // namespace mrc::wire
