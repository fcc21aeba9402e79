// ERTH, 16 bytes: endpoint request: EV probe or port status update [MRC-EVP-1, MRC-PORT-1, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/bytes.h"
#include "wire/tseth.h"

namespace mrc::wire {

// Two bits, in ERTH and EETH [MRC-EVP-2].
enum class EndpointOp : uint8_t { kPortStatus = 0, kEvProbe = 1 };

struct Erth {
  static constexpr uint32_t kSize = 16;

  EndpointOp op = EndpointOp::kEvProbe;
  uint8_t vendor_info = 0;
  uint32_t port_status_mask = 0;  // kPortStatus: bit (port - 1) set = that port of the sender is reachable
  Tseth timestamp;                // last four bytes, laid out as a TSETH

  void encode(uint8_t* p) const {
    p[0] = 0;
    p[1] = static_cast<uint8_t>(static_cast<uint8_t>(op) & 3);
    p[2] = 0;
    p[3] = vendor_info;
    put32(p + 4, port_status_mask);
    put32(p + 8, 0);
    timestamp.encode(p + 12);
  }
  static Erth decode(const uint8_t* p) {
    Erth h;
    h.op = static_cast<EndpointOp>(p[1] & 3);
    h.vendor_info = p[3];
    h.port_status_mask = get32(p + 4);
    h.timestamp = Tseth::decode(p + 12);
    return h;
  }
};

static_assert(sizeof(Erth) == 12);

}  // namespace mrc::wire
