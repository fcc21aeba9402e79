// TSETH, 4 bytes: transmit timestamp, between METH and RETH when BTH.ts is set [MRC-TSETH-1..3, spec/wire.md].
#pragma once

#include <cstdint>

#include "base/time.h"
#include "wire/codec.h"

namespace mrc::wire {

// Value of ftype in every header that carries a timestamp of its own: TSETH, PETH, ERTH [MRC-TSETH-3].
constexpr uint8_t kTimestampFormat = 1;
// One tick of tx_timestamp with tsr = 0 [MRC-TSETH-2]; the 16 bits wrap after 8.39 ms.
constexpr int64_t kTimestampTickNs = 128;

inline uint16_t timestamp_of(Instant t) {
  return static_cast<uint16_t>(static_cast<uint64_t>(t.ns()) >> 7);
}

struct Tseth {
  uint16_t tx_timestamp = 0;
  bool tsr = false;  // false: 128 ns ticks; true: the sender's own unit, never sent [MRC-CHOICE-Q13]
  uint8_t ftype = kTimestampFormat;

  static constexpr auto kFields = std::tuple{
      field<&Tseth::tx_timestamp>("tx_timestamp", 0, 7, 16, "Transmit timestamp"),
      field<&Tseth::tsr>("tsr", 2, 7, 1, "Sender's own unit (else 128 ns)"),
      reserved(2, 6, 7),
      reserved(3, 7, 4),
      field<&Tseth::ftype>("ftype", 3, 3, 4, "Timestamp format"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"TSETH", "Timestamp Header", kSize, true};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Tseth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Tseth>(in); }
};

static_assert(sizeof(Tseth) == Tseth::kSize && Tseth::kSize == 4 && (1 << 7) == kTimestampTickNs);

}  // namespace mrc::wire
