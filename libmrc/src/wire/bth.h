// BTH, 12 bytes: base transport header, first in every packet [MRC-BTH-1..8, spec/wire.md].
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "wire/codec.h"
#include "wire/opcodes.h"

namespace mrc::wire {

// Destination QPN of endpoint requests and responses [MRC-BTH-5].
constexpr Qpn kEndpointQpn = Qpn(0x000002);
constexpr uint16_t kDefaultPkey = 0xFFFF;

struct Bth {
  Opcode opcode = Opcode::kWriteOnly;
  uint8_t pad = 0;         // 0 to 3 bytes behind the payload
  uint8_t tver = 0;        // always 0
  bool solicited = false;  // datagrams only
  bool ack_req = false;    // requests an immediate SACK
  bool rtx = false;        // retransmission of this PSN
  bool ts = false;         // TSETH follows METH
  uint16_t pkey = kDefaultPkey;
  Qpn dqp;
  Psn psn;

  static constexpr auto kFields = std::tuple{
      field<&Bth::opcode>("opcode", 0, 7, 8, "Opcode").named(&kOpcodeNames).no_text(),
      field<&Bth::solicited>("se", 1, 7, 1, "Solicited event (datagrams)").no_text(),  // [MRC-CHOICE-Q31]
      unused("m", 1, 6, 1, "Migration"),
      field<&Bth::pad>("pad", 1, 5, 2, "Pad count"),
      field<&Bth::tver>("tver", 1, 3, 4, "Transport version").no_text(),
      field<&Bth::pkey>("pkey", 2, 7, 16, "P_Key").hex(),
      unused("variant_reserve", 4, 7, 8, "Variant reserve").hex(),
      field<&Bth::dqp>("dqp", 5, 7, 24, "Destination QPN").hex(),
      field<&Bth::ack_req>("ack_req", 8, 7, 1, "Acknowledge request (a)").text("a"),
      reserved(8, 6, 1),
      field<&Bth::rtx>("rtx", 8, 5, 1, "Sent before with this PSN"),
      field<&Bth::ts>("ts", 8, 4, 1, "TSETH follows METH"),
      reserved(8, 3, 4, "invariant_reserve"),
      field<&Bth::psn>("psn", 9, 7, 24, "PSN"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"BTH", "Base Transport Header", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Bth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Bth>(in); }
};

static_assert(sizeof(Bth) == 20 && Bth::kSize == 12);

// The "variant" reserve, which the ICRC masks [MRC-ICRC-4].
constexpr uint32_t kBthVariantOffset = row_of<Bth>("variant_reserve").byte;

// Asks for a SACK in a BTH that is encoded already.
inline void set_ack_req(uint8_t* bth) {
  bth[row_of<Bth>("ack_req").byte] |= flag_mask<Bth>("ack_req");
}
inline Psn encoded_psn(const uint8_t* bth) {
  return Bth::decode(std::span<const uint8_t, Bth::kSize>(bth, Bth::kSize)).psn;
}

}  // namespace mrc::wire
