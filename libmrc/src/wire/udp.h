// UDP around MRC: ports and the size that congestion control counts [MRC-UDP-1..3, spec/wire.md].
#pragma once

#include <cstdint>

namespace mrc::wire {

// Two numbers are in circulation: the first is sent by default, both are accepted [MRC-UDP-1].
constexpr uint16_t kUdpPort = 4791;
constexpr uint16_t kUdpPortAlternative = 4971;
constexpr bool is_mrc_port(uint16_t port) {
  return port == kUdpPort || port == kUdpPortAlternative;
}

constexpr uint32_t kUdpHeaderBytes = 8;
constexpr uint32_t kIcrcBytes = 4;

// Bytes that a packet counts in the window, in flight and in rcvd_bytes: UDP length + 40 [MRC-UDP-3]. The argument is
// the UDP payload, BTH to ICRC.
constexpr uint32_t nominal_size(uint32_t udp_payload) {
  return udp_payload + kUdpHeaderBytes + 40;
}

}  // namespace mrc::wire
