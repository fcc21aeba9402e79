// ImmDt, 4 bytes: immediate data, behind RETH in the final packet of a WriteIMM [MRC-IMM-1, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/codec.h"

namespace mrc::wire {

struct ImmDt {
  uint32_t data = 0;  // host order here; verbs programs keep theirs in network order

  static constexpr auto kFields = std::tuple{
      field<&ImmDt::data>("data", 0, 7, 32, "Immediate data").hex().text("imm"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"ImmDt", "Immediate Data", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static ImmDt decode(std::span<const uint8_t, kSize> in) { return decode_fields<ImmDt>(in); }
};

static_assert(sizeof(ImmDt) == ImmDt::kSize && ImmDt::kSize == 4);

}  // namespace mrc::wire
