// RETH, 16 bytes: where this packet's payload goes, in every request packet [MRC-RETH-1..3, spec/wire.md].
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "wire/codec.h"

namespace mrc::wire {

struct Reth {
  uint64_t va = 0;  // of this packet's payload, not of the message
  Key rkey;
  uint32_t dmalen = 0;  // of the whole message

  static constexpr auto kFields = std::tuple{
      field<&Reth::va>("va", 0, 7, 64, "Virtual address of this packet").short_hex(),
      field<&Reth::rkey>("rkey", 8, 7, 32, "R_Key").hex(),
      field<&Reth::dmalen>("dmalen", 12, 7, 32, "Length of the message"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"RETH", "RDMA Header", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Reth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Reth>(in); }
};

static_assert(sizeof(Reth) == Reth::kSize && Reth::kSize == 16);

}  // namespace mrc::wire
