// CC_STATE, 8 bytes behind SETH: the receiver's information for NSCC [MRC-CC-1..4, spec/wire.md].
#pragma once

#include <cstdint>

#include "wire/codec.h"

namespace mrc::wire {

// rcvd_bytes counts units of this many bytes, rounded up, modulo 2^24 units = 4 GiB [MRC-CC-3].
constexpr uint32_t kRcvdBytesUnit = 256;

struct CcState {
  uint16_t tx_timestamp = 0;  // of the triggering packet, reflected; 0 when it had none
  uint16_t ooo_count = 0;     // 15 bits: PSNs held above cack_psn
  bool restore_cwnd = false;
  uint8_t rcv_cwnd_pen = 0;  // 7 bits: 0 none .. 127 one packet per RTT
  uint32_t rcvd_bytes = 0;   // 24 bits, units of 256 bytes

  static constexpr auto kFields = std::tuple{
      field<&CcState::tx_timestamp>("tx_timestamp", 0, 7, 16, "Reflected timestamp"),
      reserved(2, 7, 1),
      field<&CcState::ooo_count>("ooo_count", 2, 6, 15, "Arrived out of order").text("ooo"),
      field<&CcState::restore_cwnd>("restore_cwnd", 4, 7, 1, "Restore window"),
      field<&CcState::rcv_cwnd_pen>("rcv_cwnd_pen", 4, 6, 7, "Window penalty").text("pen"),
      field<&CcState::rcvd_bytes>("rcvd_bytes", 5, 7, 24, "Received, units of 256 bytes"),
  };
  static constexpr uint32_t kSize = size_of(kFields);
  static constexpr HeaderInfo kInfo{"CC_STATE", "Congestion Control State", kSize};

  void encode(std::span<uint8_t, kSize> out) const { encode_fields(*this, out); }
  static CcState decode(std::span<const uint8_t, kSize> in) { return decode_fields<CcState>(in); }
};

static_assert(sizeof(CcState) == 12 && CcState::kSize == 8);

}  // namespace mrc::wire
