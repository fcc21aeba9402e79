// EETH, 36 bytes: endpoint response [MRC-EVP-3, MRC-PORT-1, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/codec.h"
#include "wire/erth.h"

namespace mrc::wire {

struct Eeth {
  EndpointOp op = EndpointOp::kEvProbe;  // bits 3:2 of byte 1 [MRC-CHOICE-Q7]; answers are matched by id
  uint16_t tx_timestamp = 0;             // of the request, reflected

  static constexpr auto kFields = std::tuple{
      reserved(0, 7, 8),
      reserved(1, 7, 4),
      field<&Eeth::op>("op", 1, 3, 2, "Operation").named(&kEndpointOpNames),
      reserved(1, 1, 2),
      reserved(2, 7, 26 * 8),
      field<&Eeth::tx_timestamp>("tx_timestamp", 28, 7, 16, "Reflected timestamp"),
      reserved(30, 7, 6 * 8),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"EETH", "Endpoint Response Header", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static Eeth decode(std::span<const uint8_t, kSize> in) { return decode_fields<Eeth>(in); }
};

static_assert(sizeof(Eeth) == 4 && Eeth::kSize == 36);

}  // namespace mrc::wire
