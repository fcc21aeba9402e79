// BTH, 12 bytes: base transport header, first in every packet [MRC-BTH-1..8, spec/wire.md].
#pragma once

#include <cstdint>

#include "base/psn.h"
#include "wire/bytes.h"
#include "wire/opcodes.h"

namespace mrc::wire {

// Destination QPN of endpoint requests and responses [MRC-BTH-5].
constexpr uint32_t kEndpointQpn = 0x000002;
constexpr uint16_t kDefaultPkey = 0xFFFF;
// Offset of the "variant" reserve, which the ICRC masks [MRC-ICRC-4].
constexpr uint32_t kBthVariantOffset = 4;

struct Bth {
  static constexpr uint32_t kSize = 12;
  static constexpr uint8_t kAckReqBit = 0x80;  // byte 8
  static constexpr uint8_t kRtxBit = 0x20;
  static constexpr uint8_t kTsBit = 0x10;

  Opcode opcode = Opcode::kWriteOnly;
  uint8_t pad = 0;       // 0 to 3 bytes behind the payload
  uint8_t tver = 0;      // always 0
  bool ack_req = false;  // SACK wanted now
  bool rtx = false;      // sent before with this PSN
  bool ts = false;       // TSETH follows METH
  uint16_t pkey = kDefaultPkey;
  uint32_t dqp = 0;  // 24 bits
  Psn psn;

  void encode(uint8_t* p) const {
    p[0] = static_cast<uint8_t>(opcode);
    // Bits 7 and 6, SE and M of InfiniBand, are 0 [MRC-CHOICE-Q31].
    p[1] = static_cast<uint8_t>((pad & 3) << 4 | (tver & 0xF));
    put16(p + 2, pkey);
    put32(p + 4, dqp & 0xFFFFFF);
    const uint32_t flags = (ack_req ? kAckReqBit : 0u) | (rtx ? kRtxBit : 0u) | (ts ? kTsBit : 0u);
    put32(p + 8, flags << 24 | psn.value());
  }
  static Bth decode(const uint8_t* p) {
    Bth h;
    h.opcode = static_cast<Opcode>(p[0]);
    h.pad = static_cast<uint8_t>(p[1] >> 4 & 3);
    h.tver = static_cast<uint8_t>(p[1] & 0xF);
    h.pkey = get16(p + 2);
    h.dqp = get24(p + 5);
    h.ack_req = (p[8] & kAckReqBit) != 0;
    h.rtx = (p[8] & kRtxBit) != 0;
    h.ts = (p[8] & kTsBit) != 0;
    h.psn = Psn(get24(p + 9));
    return h;
  }
};

static_assert(sizeof(Bth) == 16);

}  // namespace mrc::wire
