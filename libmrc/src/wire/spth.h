// SPTH, 76 bytes, behind a PLTH: one part of the list of UDP source ports from which an endpoint sends on one plane
// [MRC-EXT-8..9, spec/wire.md]. In a request only `first` counts; it has the same size as the response.
#pragma once

#include <array>
#include <cstdint>

#include "wire/codec.h"

namespace mrc::wire {

struct Spth {
  static constexpr uint32_t kPorts = 34;  // in one part

  uint16_t total = 0;  // ports of the plane
  uint16_t first = 0;  // index of ports[0] among them
  uint32_t set = 0;    // differs between lists that differ, of any plane: parts of one value belong together
  std::array<uint16_t, kPorts> ports{};  // ascending; those beyond `total` are 0

  static constexpr auto kFields = std::tuple{
      field<&Spth::total>("total", 0, 7, 16, "Source ports of the plane"),
      field<&Spth::first>("first", 2, 7, 16, "Index of the first one here"),
      field<&Spth::set>("set", 4, 7, 32, "Identifier of the list").hex(),
      field<&Spth::ports>("ports", 8, 7, 16 * kPorts, "Source ports").text("source_ports"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"SPTH", "Source Port Header (extension)", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Spth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Spth>(in); }
};

static_assert(sizeof(Spth) == Spth::kSize && Spth::kSize == 76);

}  // namespace mrc::wire
