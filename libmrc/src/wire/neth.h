// NETH, 20 bytes: reliability NACK [MRC-NACK-1..4, spec/wire.md].
#pragma once

#include <cstdint>

#include "base/psn.h"
#include "wire/bytes.h"

namespace mrc::wire {

// [MRC-NACK-2]
enum class NackReason : uint8_t {
  kTrimmed = 0x01,
  kTrimmedLastHop = 0x02,
  kNoBitmap = 0x06,
  kNoPktBuffer = 0x07,
  kNoResource = 0x0A,
  kPsnOorWindow = 0x0B,
  kUnexpEvent = 0x19,
};

const char* nack_reason_name(NackReason reason);  // "UNKNOWN" for other values

// cc_type of a NETH, which no CC_STATE follows [MRC-NACK-3].
constexpr uint8_t kCcTypeNack = 2;

struct Neth {
  static constexpr uint32_t kSize = 20;

  NackReason reason = NackReason::kTrimmed;
  uint8_t vendor_info = 0;
  uint32_t entropy = 0;  // EV of the rejected packet
  uint16_t spdcid = 0;   // low half of the sender's QPN
  uint16_t dpdcid = 0;
  Psn nack_psn;
  uint8_t cc_type = kCcTypeNack;
  uint8_t cc_fl = 0;          // [MRC-CHOICE-Q30]
  uint16_t tx_timestamp = 0;  // reflected

  void encode(uint8_t* p) const {
    put16(p, 0);
    p[2] = static_cast<uint8_t>(reason);
    p[3] = vendor_info;
    put32(p + 4, entropy);
    put16(p + 8, spdcid);
    put16(p + 10, dpdcid);
    put32(p + 12, nack_psn.value());
    p[16] = static_cast<uint8_t>((cc_type & 0xF) << 4 | (cc_fl & 0xF));
    p[17] = 0;
    put16(p + 18, tx_timestamp);
  }
  static Neth decode(const uint8_t* p) {
    Neth h;
    h.reason = static_cast<NackReason>(p[2]);
    h.vendor_info = p[3];
    h.entropy = get32(p + 4);
    h.spdcid = get16(p + 8);
    h.dpdcid = get16(p + 10);
    h.nack_psn = Psn(get24(p + 13));
    h.cc_type = static_cast<uint8_t>(p[16] >> 4);
    h.cc_fl = static_cast<uint8_t>(p[16] & 0xF);
    h.tx_timestamp = get16(p + 18);
    return h;
  }
};

static_assert(sizeof(Neth) <= 24);

}  // namespace mrc::wire
