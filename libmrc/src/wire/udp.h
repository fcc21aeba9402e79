// UDP around MRC: the size that congestion control counts [MRC-UDP-2..3, spec/wire.md].
#pragma once

#include <cstdint>

namespace mrc::wire {

constexpr uint32_t kUdpHeaderBytes = 8;
constexpr uint32_t kIcrcBytes = 4;

// Bytes that a packet counts in the window, in flight and in rcvd_bytes: UDP length + 40 [MRC-UDP-3]. The argument is
// the UDP payload, BTH to ICRC.
constexpr uint32_t nominal_size(uint32_t udp_payload) {
  return udp_payload + kUdpHeaderBytes + 40;
}

}  // namespace mrc::wire
