// PlaneDiscovery: queries between endpoints, an extension of OCP MRC: the addresses of a peer's planes
// [MRC-EXT-1..7, plane_discovery.cc] and its source ports [MRC-EXT-8..11, source_port_discovery.cc]. Answering needs no
// state.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "core/control_queue.h"
#include "core/engine_context.h"
#include "core/peer_table.h"
#include "core/pending_query.h"
#include "core/source_ports.h"
#include "core/timer_heap.h"
#include "wire/packet.h"

namespace mrc::core {

class QpTable;

class PlaneDiscovery {
 public:
  PlaneDiscovery(EngineContext* engine, PeerTable* peers, QpTable* qps, ControlQueue* control);

  // A QP goes to RTR towards the peer: unknown values are queried.
  void on_qp_up(Instant now, Peer* p);
  // A datagram is sent towards the peer: its planes are queried if they are not known.
  void on_datagram(Instant now, Peer* p) { start_planes(now, p); }
  // True: the peer has yet to say its address on that plane, for which it is queried. What goes to an EV of the plane
  // can wait for it.
  bool awaits_address(Instant now, Peer* p, PlaneId plane);
  void on_request(Instant now, const wire::Flow& flow, PlaneId plane, const wire::Packet& p);
  void on_response(Instant now, const wire::Flow& flow, const wire::Packet& p);
  // A packet for a QP from a port that the peer has not announced: counted, and the peer is queried again [MRC-SEC-9].
  void on_foreign_port(Instant now, Peer* p);
  // This host has an address on a plane on which it had none: peers that were queried do not know it.
  void on_own_address(Instant now);
  void on_timer(Instant now);
  const TimerNode* timer() const { return &timer_; }
  void check() const;

 private:
  // plane_discovery.cc
  void start_planes(Instant now, Peer* p);
  void begin_planes(Instant now, Peer* p);
  void query_planes(Instant now, Peer* p);
  bool accepts(const wire::Flow& flow, const wire::Plth& request) const;
  void reopen_plane(Instant now, Peer* p, const wire::Plth& request);
  void query_back(Instant now, const wire::Flow& flow, const wire::Plth& request);
  bool learn_plane(Peer* to, const wire::Plth& announced);
  void use_plane(Instant now, Peer* to, PlaneId plane, bool ready);
  wire::Plth describe_plane(const wire::Flow& flow, const wire::Plth& request) const;
  // Counts a try and sets the timer. False: the query is not repeated.
  bool count_try(Instant now, PendingQuery* query, bool open);
  wire::Plth make_request(const PendingQuery& query, PlaneId plane) const;
  std::optional<EvIndex> first_ev_of_plane(PlaneId plane) const;
  // source_port_discovery.cc
  void start_ports(Instant now, Peer* p);
  void open_ports(Instant now, Peer* p);
  void query_ports(Instant now, Peer* p);
  bool on_announced_ports(Instant now, const wire::Flow& flow, const wire::Packet& p);

  EngineContext& engine_;
  PeerTable& peers_;
  QpTable& qps_;
  ControlQueue& control_;
  const OwnSourcePorts own_ports_;
  Rng nonces_;  // of queries of source ports
  TimerNode timer_;
};

}  // namespace mrc::core
