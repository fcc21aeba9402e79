// TSETH, 4 bytes: transmit timestamp, between METH and RETH when BTH.ts is set [MRC-TSETH-1..3, spec/wire.md].
#pragma once

#include <cstdint>

#include "base/time.h"
#include "wire/bytes.h"

namespace mrc::wire {

// Value of ftype in every header that carries a timestamp of its own: TSETH, PETH, ERTH [MRC-TSETH-3].
constexpr uint8_t kTimestampFormat = 1;
// One tick of tx_timestamp with tsr = 0 [MRC-TSETH-2]; the 16 bits wrap after 8.39 ms.
constexpr int64_t kTimestampTickNs = 128;

inline uint16_t timestamp_of(Instant t) {
  return static_cast<uint16_t>(static_cast<uint64_t>(t.ns()) >> 7);
}

struct Tseth {
  static constexpr uint32_t kSize = 4;

  uint16_t tx_timestamp = 0;
  bool tsr = false;  // false: 128 ns ticks; true: the sender's own unit, never sent [MRC-CHOICE-Q13]
  uint8_t ftype = kTimestampFormat;

  void encode(uint8_t* p) const {
    put16(p, tx_timestamp);
    p[2] = tsr ? 0x80 : 0;
    p[3] = static_cast<uint8_t>(ftype & 0xF);
  }
  static Tseth decode(const uint8_t* p) {
    Tseth h;
    h.tx_timestamp = get16(p);
    h.tsr = (p[2] & 0x80) != 0;
    h.ftype = static_cast<uint8_t>(p[3] & 0xF);
    return h;
  }
};

static_assert(sizeof(Tseth) == Tseth::kSize && (1 << 7) == kTimestampTickNs);

}  // namespace mrc::wire
