// EETH, 36 bytes: endpoint response [MRC-EVP-3, MRC-PORT-1, spec/wire.md].
#pragma once

#include <cstdint>
#include <cstring>

#include "wire/bytes.h"
#include "wire/erth.h"

namespace mrc::wire {

struct Eeth {
  static constexpr uint32_t kSize = 36;

  EndpointOp op = EndpointOp::kEvProbe;  // bits 3:2 of byte 1 [MRC-CHOICE-Q7]; answers are matched by id
  uint16_t tx_timestamp = 0;             // of the request, reflected

  void encode(uint8_t* p) const {
    std::memset(p, 0, kSize);
    p[1] = static_cast<uint8_t>((static_cast<uint8_t>(op) & 3) << 2);
    put16(p + 28, tx_timestamp);
  }
  static Eeth decode(const uint8_t* p) {
    Eeth h;
    h.op = static_cast<EndpointOp>(p[1] >> 2 & 3);
    h.tx_timestamp = get16(p + 28);
    return h;
  }
};

static_assert(sizeof(Eeth) == 4);

}  // namespace mrc::wire
