// RxDispatcher: each packet of a received burst is decoded, its ICRC checked, its source compared with the QP's peer,
// and passed to the responsible part of the engine. Everything in it is hostile until compared; an invalid packet
// is counted and dropped [MRC-RX-1].
#pragma once

#include <cstdint>

#include "core/burst.h"
#include "core/engine_context.h"
#include "core/qp_table.h"
#include "core/tombstones.h"
#include "wire/packet.h"

namespace mrc::core {

class DatagramTable;
class PathProber;
class PlaneDiscovery;

class RxDispatcher {
 public:
  RxDispatcher(EngineContext* engine, QpTable* qps, PeerTable* peers, Tombstones* tombstones, PathProber* prober,
               PlaneDiscovery* discovery, DatagramTable* datagrams)
      : engine_(*engine),
        qps_(*qps),
        peers_(*peers),
        tombstones_(*tombstones),
        prober_(*prober),
        discovery_(*discovery),
        datagrams_(*datagrams) {}

  // As Endpoint::handle_rx.
  void handle(Instant now, const RxBurst& burst);

 private:
  // The ICRC's prefix over the flow, kept for packets of one size.
  struct IcrcPrefix {
    uint32_t state = 0;
    uint32_t bytes = 0;
  };
  void handle_packet(Instant now, const RxBurst& burst, const uint8_t* data, uint32_t bytes, IcrcPrefix* prefix);
  void handle_trimmed(Instant now, const RxBurst& burst, const uint8_t* data, uint32_t bytes, bool last_hop);
  void dispatch(Instant now, const RxBurst& burst, const wire::Packet& p, uint32_t bytes);
  void dispatch_to_responder(Instant now, const RxBurst& burst, Qp* qp, const wire::Packet& p, uint32_t bytes);
  void dispatch_to_requester(Instant now, Qp* qp, const wire::Packet& p);
  void dispatch_without_qp(Instant now, const RxBurst& burst, const wire::Packet& p);
  bool is_from(Instant now, Peer* peer, const RxBurst& burst);

  EngineContext& engine_;
  QpTable& qps_;
  PeerTable& peers_;
  Tombstones& tombstones_;
  PathProber& prober_;
  PlaneDiscovery& discovery_;
  DatagramTable& datagrams_;
};

}  // namespace mrc::core
