// RETH, 16 bytes: where this packet's payload goes, in every request packet [MRC-RETH-1..3, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace mrc::wire {

struct Reth {
  static constexpr uint32_t kSize = 16;

  uint64_t va = 0;  // of this packet's payload, not of the message
  uint32_t rkey = 0;
  uint32_t dmalen = 0;  // of the whole message

  void encode(uint8_t* p) const {
    put64(p, va);
    put32(p + 8, rkey);
    put32(p + 12, dmalen);
  }
  static Reth decode(const uint8_t* p) {
    Reth h;
    h.va = get64(p);
    h.rkey = get32(p + 8);
    h.dmalen = get32(p + 12);
    return h;
  }
};

static_assert(sizeof(Reth) == Reth::kSize);

}  // namespace mrc::wire
