// METH, 4 bytes: message sequence numbers, in every request packet [MRC-METH-1, MRC-METH-2, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/codec.h"

namespace mrc::wire {

struct Meth {
  uint16_t rqmsn = 0;  // +1 per WriteIMM message; 0 on a plain WRITE
  uint16_t msn = 0;    // +1 per message, same in all its packets

  static constexpr auto kFields = std::tuple{
      field<&Meth::rqmsn>("rqmsn", 0, 7, 16, "Receive message number"),
      field<&Meth::msn>("msn", 2, 7, 16, "Message number"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"METH", "Message Header", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Meth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Meth>(in); }
};

static_assert(sizeof(Meth) == Meth::kSize && Meth::kSize == 4);

}  // namespace mrc::wire
