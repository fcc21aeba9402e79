// AETH, 4 bytes: transport ACK or NAK [MRC-AETH-1, MRC-AETH-2, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/codec.h"

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

inline constexpr ValueName kSyndromeList[] = {
    {0x00, kSyndromeAck, "ACK"},
    {kSyndromeInvalidRequest, kSyndromeInvalidRequest, "NAK invalid request"},
    {kSyndromeRemoteAccess, kSyndromeRemoteAccess, "NAK remote access error"},
    {kSyndromeRemoteOperation, kSyndromeRemoteOperation, "NAK remote operation error"}};
inline constexpr ValueNames kSyndromeNames{"SYNDROMES", kSyndromeList, "reserved"};

struct Aeth {
  uint8_t syndrome = kSyndromeAck;
  uint32_t msn = 0;  // 24 bits: messages completed by the responder

  static constexpr auto kFields = std::tuple{
      field<&Aeth::syndrome>("syndrome", 0, 7, 8, "Kind and code").named(&kSyndromeNames, Show::kHex),
      field<&Aeth::msn>("msn", 1, 7, 24, "Completed messages"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"AETH", "Acknowledge Header", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Aeth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Aeth>(in); }
};

static_assert(sizeof(Aeth) == 8 && Aeth::kSize == 4);

}  // namespace mrc::wire
