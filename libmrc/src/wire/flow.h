// Flow: the IP and UDP headers around an MRC packet. Sockets hide those headers, so both directions carry them
// beside the bytes: the ICRC covers them (masked) and the EV is read from them [MRC-ICRC-1, MRC-EV-1, spec/wire.md].
#pragma once

#include <cstdint>

#include "base/ip.h"

namespace mrc::wire {

enum class Ecn : uint8_t { kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3 };

struct Flow {
  IpAddress src;
  IpAddress dst;
  uint16_t src_port = 0;
  uint16_t dst_port = 0;
  uint32_t flow_label = 0;    // 20 bits; 0 on IPv4
  uint8_t traffic_class = 0;  // DSCP in the upper six bits, ECN in the lower two

  uint8_t dscp() const { return static_cast<uint8_t>(traffic_class >> 2); }
  Ecn ecn() const { return static_cast<Ecn>(traffic_class & 3); }
  friend bool operator==(const Flow&, const Flow&) = default;
};

// The 32-bit EV: low half in the UDP source port, high half in flow label bits 15:0 [MRC-EV-1].
inline uint32_t ev_of(const Flow& f) {
  return ((f.flow_label & 0xFFFFu) << 16) | f.src_port;
}

}  // namespace mrc::wire
