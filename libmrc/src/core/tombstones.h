// Tombstones: records of destroyed QPs, so that a peer whose last ACK or NAK was lost still receives one
// [MRC-RSP-11]. One per slot of the QP table; it is replaced when the slot's QP number is used again.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "core/control_queue.h"
#include "core/engine_context.h"
#include "core/peer_table.h"
#include "core/transport_ack.h"

namespace mrc::core {

struct Tombstone {
  TransportAck last;
  PeerId peer = kNoPeer;
  Instant last_request;
  Instant answered = kLongAgo;
};

class Tombstones {
 public:
  Tombstones(EngineContext* engine, PeerTable* peers, ControlQueue* control)
      : engine_(*engine), peers_(*peers), control_(*control) {}

  void resize(size_t slots) { by_slot_.resize(slots); }
  // Replaces the slot's tombstone, which may be none: kNoPeer.
  void put(uint32_t slot, const Tombstone& t);
  // The one of that QP, if it may be answered again now; null otherwise.
  Tombstone* find(Instant now, uint32_t slot, Qpn qpn);
  // Retransmits its ACK or NAK.
  void answer(Instant now, Tombstone* t);
  // The same for all whose last request arrived at or after `since` [MRC-RSP-13].
  void repeat(Instant now, Instant since);
  // Tombstones that refer to the peer.
  uint32_t count(PeerId peer) const;
  void check() const;

 private:
  EngineContext& engine_;
  PeerTable& peers_;
  ControlQueue& control_;
  std::vector<Tombstone> by_slot_;
};

}  // namespace mrc::core
