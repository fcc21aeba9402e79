// Whether the size of a QP's oldest packet may be the reason that it does not get through. [MRC-MTU-1] [MRC-MTU-4]
#pragma once

#include <cstdint>

#include "core/path_mtu.h"
#include "core/sent_packets.h"
#include "wire/packet.h"
#include "wire/udp.h"

namespace mrc::core {

inline constexpr uint8_t kSuspectSends = 3;  // of the oldest packet

// The oldest packet was sent and exceeds the size of packets of that path MTU. `timestamps`: EndpointConfig.
inline bool oldest_exceeds(const SentPackets& sent, uint32_t path_mtu, bool timestamps) {
  if (sent.all_arrived()) return false;
  return sent[sent.una()].nominal >
         wire::nominal_size(wire::packet_bytes(wire::Opcode::kWriteLastImm, timestamps, path_mtu));
}

// The oldest packet has been sent again and again and does not get through, and it is a large one. Not if a switch
// trimmed it, for that passes on what it would have sent on whole.
inline bool size_is_suspect(const SentPackets& sent, bool timestamps) {
  if (!oldest_exceeds(sent, PathMtu::kSmallest, timestamps)) return false;
  const TxRecord& oldest = sent[sent.una()];
  return oldest.sends >= kSuspectSends && oldest.lost_by != TraceTrigger::kTrimmed;
}

}  // namespace mrc::core
