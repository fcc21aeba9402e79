// AETH, 4 bytes: transport ACK or NAK [MRC-AETH-1, MRC-AETH-2, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace mrc::wire {

// ACK with the credit field saying "no end-to-end credits", and the NAK codes in use [MRC-AETH-1].
constexpr uint8_t kSyndromeAck = 0x1F;
constexpr uint8_t kSyndromeInvalidRequest = 0x61;
constexpr uint8_t kSyndromeRemoteAccess = 0x62;
constexpr uint8_t kSyndromeRemoteOperation = 0x63;

// The upper three bits choose the kind: 0 is ACK, 3 is NAK.
constexpr bool is_ack_syndrome(uint8_t s) {
  return (s & 0xE0) == 0;
}
constexpr bool is_nak_syndrome(uint8_t s) {
  return (s & 0xE0) == 0x60;
}

struct Aeth {
  static constexpr uint32_t kSize = 4;

  uint8_t syndrome = kSyndromeAck;
  uint32_t msn = 0;  // 24 bits: messages completed by the responder

  void encode(uint8_t* p) const {
    p[0] = syndrome;
    put24(p + 1, msn);
  }
  static Aeth decode(const uint8_t* p) {
    Aeth h;
    h.syndrome = p[0];
    h.msn = get24(p + 1);
    return h;
  }
};

static_assert(sizeof(Aeth) == 8);

}  // namespace mrc::wire
