// ImmDt, 4 bytes: immediate data, behind RETH in the final packet of a WriteIMM [MRC-IMM-1, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace mrc::wire {

struct ImmDt {
  static constexpr uint32_t kSize = 4;

  uint32_t data = 0;  // host order here; verbs programs keep theirs in network order

  void encode(uint8_t* p) const { put32(p, data); }
  static ImmDt decode(const uint8_t* p) {
    ImmDt h;
    h.data = get32(p);
    return h;
  }
};

static_assert(sizeof(ImmDt) == ImmDt::kSize);

}  // namespace mrc::wire
