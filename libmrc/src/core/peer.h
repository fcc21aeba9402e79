// Peer: a remote NIC as used by one remote process (UDP port), with the state shared by its QPs: addresses, path
// health, measured rate and round trip, path MTU, and open queries about it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "core/delay_histogram.h"
#include "core/engine_context.h"
#include "core/path_meter.h"
#include "core/path_mtu.h"
#include "core/peer_paths.h"
#include "core/pending_query.h"
#include "core/source_ports.h"
#include "core/timer_heap.h"
#include "invariant.h"

namespace mrc::core {

// References to a peer: of QPs, of the application (intern_peer), and of tombstones.
struct PeerReferences {
  uint32_t all = 0;
  uint32_t tombstones = 0;  // of these
  // Only records of destroyed QPs refer to it: only answers are sent to it.
  bool only_tombstones() const { return all == tombstones; }
};

// The search for the path MTU to a peer.
struct PeerMtu {
  PathMtu search;
  uint32_t largest = 0;                                               // path MTU of any QP to the peer
  std::array<std::optional<EvIndex>, PlaneSet::kMaxPlanes> probe_ev;  // per plane: the EV of the current round
  PlaneSet measured;  // lossy planes, searched because they are [MRC-EVS-20]
};

// How packets are recognised as the peer's.
struct PacketOrigin {
  PeerSourcePorts source_ports;
  bool reflects = false;                               // it repeats the timestamp of an endpoint request [MRC-EVP-4]
  std::array<uint32_t, PlaneSet::kMaxPlanes> pipes{};  // per plane: RxBurst::pipe that carries its packets; 0: none
};

struct Peer {
  Peer(PeerId peer_id, const PeerDescription& d, EngineContext* engine)
      : id(peer_id),
        interned(d),
        description(d),
        paths(engine->config, engine->evs.names, engine->evs.links, d, &engine->counters, engine->trace.sink(),
              &engine->rng),
        meter(engine->config.congestion.line_rate_bps, engine->config.congestion.base_rtt),
        mtu{{std::min<size_t>(engine->config.planes.size(), 32), engine->config.ev_probe_interval}} {
    timer.peer = this;
  }

  // True if this is an address of the peer.
  bool owns(const IpAddress& addr, PlaneId plane) const {
    return any_plane_at(addr, plane, [](PlaneId) { return true; });
  }
  // While shared memory carries the peer's packets to that plane, packets from the network are not the peer's
  // [MRC-LOCAL-8].
  bool accepts_pipe(PlaneId plane, uint32_t pipe) {
    uint32_t& standing = origin.pipes[plane.value() % origin.pipes.size()];
    if (pipe != 0) standing = pipe;
    return standing == pipe;
  }
  // True if packets from that address, one of the peer's, may have this source port. Ports are compared per address:
  // the same port of another address of that host may belong to another process [MRC-SEC-9].
  bool sends_from(const IpAddress& addr, PlaneId plane, uint16_t port) const {
    return !origin.source_ports.announced() ||
           any_plane_at(addr, plane, [&](PlaneId p) { return origin.source_ports.contains(p, port); });
  }
  // No QP is left: its paths are not probed and no query is sent.
  bool left() const { return refs.only_tombstones(); }
  // Its next use may be by another process, with ports and planes of its own [MRC-EXT-11].
  void forget_process() {
    plane_query.begun = kLongAgo;
    port_query = PortQuery();
    origin.source_ports = PeerSourcePorts();
  }
  // When its paths or the search for its path MTU are due next.
  Instant next_time() const { return std::min(paths.next_probe_time(), mtu.search.next_time()); }
  // It answers probes and queries: a host that a QP uses. A multicast group does not answer.
  bool answers() const { return !left() && !description.is_group(); }
  // Sets the timer to it, while there is a QP.
  void rearm(TimerHeap* timers) { timers->set(&timer, answers() ? next_time() : Instant::never()); }
  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(refs.all > 0 && refs.all >= refs.tombstones);
    paths.check();
    mtu.search.check();
    meter.check();
    origin.source_ports.check();
    plane_query.check();
    port_query.check();
  }

  const PeerId id;
  PeerReferences refs;
  const PeerDescription interned;  // as given, the key of lookups
  PeerDescription description;     // including the values reported by the peer itself
  PeerPaths paths;
  TimerNode timer;
  PlaneQuery plane_query;
  PortQuery port_query;
  PacketOrigin origin;
  // Recent round trips of any QP to this peer: a QP without samples of its own, or with old ones, must not mistake the
  // queue of other QPs for silence.
  Duration recent_rtt;
  PathMeter meter;
  uint32_t senders = 0;  // QPs that have something to send to it or to be acknowledged
  PeerMtu mtu;
  PeerLatency latency;

 private:
  // True if `holds` for a plane of the peer with that address, which mostly is the plane of the packet's arrival.
  template <typename Holds>
  bool any_plane_at(const IpAddress& addr, PlaneId likely, const Holds& holds) const {
    const PerPlane<PlaneAddress>& planes = description.planes;
    if (planes.has(likely) && planes[likely].addr == addr && holds(likely)) return true;
    for (const PlaneId p : planes.ids())
      if (planes[p].addr == addr && holds(p)) return true;
    return false;
  }
};

}  // namespace mrc::core
