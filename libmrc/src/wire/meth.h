// METH, 4 bytes: message sequence numbers, in every request packet [MRC-METH-1, MRC-METH-2, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace mrc::wire {

struct Meth {
  static constexpr uint32_t kSize = 4;

  uint16_t rqmsn = 0;  // +1 per WriteIMM message; 0 on a plain WRITE
  uint16_t msn = 0;    // +1 per message, same in all its packets

  void encode(uint8_t* p) const {
    put16(p, rqmsn);
    put16(p + 2, msn);
  }
  static Meth decode(const uint8_t* p) {
    Meth h;
    h.rqmsn = get16(p);
    h.msn = get16(p + 2);
    return h;
  }
};

static_assert(sizeof(Meth) == Meth::kSize);

}  // namespace mrc::wire
