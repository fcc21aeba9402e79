// TransportAck: a QP's acknowledgement of messages: a transport ACK, or the NAK that ends it [MRC-ACK-2].
#pragma once

#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/psn.h"
#include "base/time.h"
#include "wire/aeth.h"

namespace mrc::core {

class ControlQueue;
struct EngineContext;
struct Peer;

struct TransportAck {
  Qpn qpn;
  Qpn dest_qpn;
  uint16_t pkey = 0;
  Psn psn;
  uint32_t msn = 0;
  uint8_t syndrome = wire::kSyndromeAck;

  uint32_t encode(std::span<uint8_t> out) const;  // bytes written
};

// Queues it as a packet of its own. False: there is no path by that EV, or too many control packets wait.
bool send_ack(Instant now, EngineContext* engine, ControlQueue* control, const Peer& to, EvIndex ev,
              const TransportAck& ack);

}  // namespace mrc::core
