// CC_STATE, 8 bytes behind SETH: what NSCC learns from the receiver [MRC-CC-1..4, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace mrc::wire {

// rcvd_bytes counts units of this many bytes, rounded up, modulo 2^24 units = 4 GiB [MRC-CC-3].
constexpr uint32_t kRcvdBytesUnit = 256;

struct CcState {
  static constexpr uint32_t kSize = 8;

  uint16_t tx_timestamp = 0;  // of the triggering packet, reflected; 0 when it had none
  uint16_t ooo_count = 0;     // 15 bits: PSNs held above cack_psn
  bool restore_cwnd = false;
  uint8_t rcv_cwnd_pen = 0;  // 7 bits: 0 none .. 127 one packet per RTT
  uint32_t rcvd_bytes = 0;   // 24 bits, units of 256 bytes

  void encode(uint8_t* p) const {
    put16(p, tx_timestamp);
    put16(p + 2, static_cast<uint16_t>(ooo_count & 0x7FFF));
    p[4] = static_cast<uint8_t>((restore_cwnd ? 0x80 : 0) | (rcv_cwnd_pen & 0x7F));
    put24(p + 5, rcvd_bytes);
  }
  static CcState decode(const uint8_t* p) {
    CcState h;
    h.tx_timestamp = get16(p);
    h.ooo_count = static_cast<uint16_t>(get16(p + 2) & 0x7FFF);
    h.restore_cwnd = (p[4] & 0x80) != 0;
    h.rcv_cwnd_pen = static_cast<uint8_t>(p[4] & 0x7F);
    h.rcvd_bytes = get24(p + 5);
    return h;
  }
};

static_assert(sizeof(CcState) == 12);

}  // namespace mrc::wire
