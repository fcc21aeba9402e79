// Queries a peer for its planes if no rule gives them [MRC-EXT-1..6, spec/wire.md].
//
// The first QP that goes to RTR towards the peer, datagram to it or operation of the controller starts the query: one
// plane request per local plane beyond the first, sent to the peer's plane 0 (plane 1 in words) and repeated with a
// doubling pause until every plane is answered or the tries are used up. Meanwhile, and permanently if the peer does
// not implement this, only plane 0 carries traffic. An answer contains the peer's address, whose packets are accepted
// from then on, and whether the peer accepts ours; only then the plane is used. A request of a peer with an open query
// here repeats our query at once, so that the end that started first need not wait for its next try. A later QP starts
// the query again, so that a peer that restarted with other addresses, or that missed the first requests, is found.
#include "core/plane_discovery.h"

#include <algorithm>

#include "core/flows.h"
#include "core/qp_table.h"
#include "invariant.h"

namespace mrc::core {

namespace {

// True if packets may be sent to the address: a peer's answer must not be a multicast or unspecified address.
bool sendable(const IpAddress& addr) {
  if (addr.is_zero()) return false;
  if (!addr.is_v4()) return addr.bytes[0] != 0xFF;
  return addr.bytes[12] != 0 && addr.bytes[12] < 224;
}

// True if `peer` is the requester. One host may run several processes, distinguished by their slots.
bool is_sender_of(const Peer& peer, const wire::Flow& flow, const wire::Plth& request) {
  const PeerDescription& d = peer.description;
  return !d.planes.empty() && d.planes[0].addr == flow.src && (!d.learn || d.slot == request.slot);
}

}  // namespace

PlaneDiscovery::PlaneDiscovery(EngineContext* engine, PeerTable* peers, QpTable* qps, ControlQueue* control)
    : engine_(*engine),
      peers_(*peers),
      qps_(*qps),
      control_(*control),
      own_ports_(engine->config),
      nonces_(engine->message_secret + 1) {
  engine_.timers.expect(1);
}

void PlaneDiscovery::on_qp_up(Instant now, Peer* p) {
  start_planes(now, p);
  start_ports(now, p);
}

void PlaneDiscovery::start_planes(Instant now, Peer* p) {
  PlaneQuery& q = p->plane_query;
  if (!p->description.learn || now - q.begun < PendingQuery::kFresh) return;
  begin_planes(now, p);
}

void PlaneDiscovery::begin_planes(Instant now, Peer* p) {
  PlaneQuery& q = p->plane_query;
  q.begin(now, engine_.rng.next());
  q.open = p->description.planes.ids() - 1_planes;
  query_planes(now, p);
}

bool PlaneDiscovery::awaits_address(Instant now, Peer* p, PlaneId plane) {
  start_planes(now, p);
  return p->plane_query.open.contains(plane) && p->description.planes[plane].addr.is_zero();
}

// [MRC-EXT-12]
void PlaneDiscovery::on_own_address(Instant now) {
  peers_.for_each([&](Peer* p) {
    if (p->description.learn && p->plane_query.begun > kLongAgo) begin_planes(now, p);
  });
}

bool PlaneDiscovery::count_try(Instant now, PendingQuery* query, bool open) {
  query->next = Instant::never();
  if (!open || query->exhausted()) return false;
  query->count_try(now);
  engine_.timers.set(&timer_, std::min(timer_.deadline, query->next));
  return true;
}

wire::Plth PlaneDiscovery::make_request(const PendingQuery& query, PlaneId plane) const {
  const EndpointConfig& c = engine_.config;
  wire::Plth request;
  request.plane = plane.value();
  request.planes = static_cast<uint8_t>(c.planes.size());
  request.slot = c.slot;
  request.nonce = query.nonce;
  if (c.planes.has(plane)) request.addr = c.planes[plane].addr;
  return request;
}

void PlaneDiscovery::query_planes(Instant now, Peer* p) {
  PlaneQuery& q = p->plane_query;
  if (!count_try(now, &q, !q.open.empty())) return;
  const std::optional<EvIndex> ev = p->paths.pick_control(1_planes);
  if (!ev) return;
  const std::optional<wire::Flow> flow = make_flow(engine_.config, p->description, *ev, engine_.config.dscp.no_trim);
  if (!flow) return;
  wire::Bth bth;
  bth.dqp = wire::kEndpointQpn;
  for (const PlaneId plane : q.open) {
    const wire::Plth request = make_request(q, plane);
    if (control_.push(*flow, *ev,
                      [&](std::span<uint8_t> out) { return wire::encode_plane_request(out, bth, request); }))
      ++engine_.counters.tx_plane_requests;
  }
}

std::optional<EvIndex> PlaneDiscovery::first_ev_of_plane(PlaneId plane) const {
  const PerEv<EvEntry>& evs = engine_.config.evs;
  const auto it = std::find_if(evs.begin(), evs.end(), [&](const EvEntry& e) { return e.plane == plane; });
  return it != evs.end() ? std::optional(evs.id_of(it)) : std::nullopt;
}

// Answered in as many bytes as the request has: about planes to any sender [MRC-EXT-3], about source ports to peers,
// since a forger has to guess them [MRC-EXT-8].
void PlaneDiscovery::on_request(Instant now, const wire::Flow& flow, PlaneId plane, const wire::Packet& p) {
  if (p.plth.version != wire::Plth::kVersion || p.plth.plane >= PlaneSet::kMaxPlanes) {
    ++engine_.counters.drop_stale;
    return;
  }
  if (p.plth.ports && peers_.find_at(flow.src, [](const Peer& known) { return !known.left(); }) == nullptr) {
    ++engine_.counters.drop_replies;
    return;
  }
  const std::optional<EvIndex> ev = first_ev_of_plane(plane);
  if (!ev) return;
  const wire::Flow back = make_reply_flow(engine_.config, flow, plane, p.plth.slot, *ev);
  wire::Bth bth;
  bth.dqp = wire::kEndpointQpn;
  const wire::Plth answer = describe_plane(flow, p.plth);
  wire::Spth ports;
  if (p.plth.ports) ports = own_ports_.part(PlaneId(p.plth.plane), p.spth().first);
  const uint32_t asked = wire::packet_bytes(p.bth.opcode, false, p.payload_len);
  const auto encode = [&](std::span<uint8_t> out) {
    return wire::encode_plane_response(out, bth, answer, p.plth.ports ? &ports : nullptr);
  };
  if (control_.push_reply(now, back, *ev, peers_.source_of(flow, plane), asked, encode))
    ++(p.plth.ports ? engine_.counters.rx_port_requests : engine_.counters.rx_plane_requests);
  query_back(now, flow, p.plth);
}

// The answer to a request about one of our planes.
wire::Plth PlaneDiscovery::describe_plane(const wire::Flow& flow, const wire::Plth& request) const {
  const EndpointConfig& c = engine_.config;
  wire::Plth answer;
  answer.plane = request.plane;
  answer.planes = static_cast<uint8_t>(c.planes.size());
  answer.slot = c.slot;
  answer.nonce = request.nonce;
  answer.ready = accepts(flow, request);
  if (answer.plane < c.planes.size()) {
    answer.addr = c.planes[answer.plane].addr;
    answer.port = c.planes[answer.plane].port;
    if (answer.plane < c.slot_ports.size()) {
      answer.port = c.slot_ports[answer.plane].standard;
      answer.port_base = c.slot_ports[answer.plane].base;
    }
  }
  return answer;
}

// True if packets from the requester's address on that plane are accepted as the requester's.
bool PlaneDiscovery::accepts(const wire::Flow& flow, const wire::Plth& request) const {
  if (request.addr.is_zero()) return false;
  return peers_.find_at(flow.src, [&](const Peer& p) {
    return is_sender_of(p, flow, request) && p.owns(request.addr, PlaneId(request.plane));
  }) != nullptr;
}

// A plane that the peer lacked, and about which it sends an address now, has come: it is queried for again, paced as in
// query_back(). [MRC-EXT-12]
void PlaneDiscovery::reopen_plane(Instant now, Peer* p, const wire::Plth& request) {
  const PlaneId plane(request.plane);
  PlaneQuery& q = p->plane_query;
  if (!p->description.learn || q.begun == kLongAgo || plane == 0_plane || !p->description.planes.has(plane)) return;
  if (request.addr.is_zero() || !p->description.planes[plane].addr.is_zero() || q.open.contains(plane)) return;
  q.open.insert(plane);
  q.restart(now);
  engine_.timers.set(&timer_, std::min(timer_.deadline, q.next));
}

// A peer that sends a request is up, and accepts our packets soon: open queries are repeated, once for each request of
// the peer, and no sooner than a first repetition would be, regardless of the arrivals [MRC-EXT-7] [MRC-EXT-9].
void PlaneDiscovery::query_back(Instant now, const wire::Flow& flow, const wire::Plth& request) {
  const auto again = [&](PendingQuery* query) {
    query->restart(now);
    engine_.timers.set(&timer_, std::min(timer_.deadline, query->next));
  };
  peers_.find_at(flow.src, [&](Peer& p) {
    if (is_sender_of(p, flow, request)) reopen_plane(now, &p, request);
    if ((p.plane_query.open.empty() && !p.port_query.open) || request.nonce == p.plane_query.peer_nonce ||
        !is_sender_of(p, flow, request))
      return false;
    p.plane_query.peer_nonce = request.nonce;
    if (!p.plane_query.open.empty()) again(&p.plane_query);
    if (p.port_query.open) again(&p.port_query);
    return false;  // all of them
  });
}

// Accepted only from the queried address, with the nonce of the open query, until the plane is settled
// [MRC-EXT-4].
void PlaneDiscovery::on_response(Instant now, const wire::Flow& flow, const wire::Packet& p) {
  const wire::Plth& announced = p.plth;
  if (announced.ports) {
    if (!on_announced_ports(now, flow, p)) ++engine_.counters.drop_stale;
    return;
  }
  Peer* const to = peers_.find_at(flow.src, [&](const Peer& candidate) {
    return !candidate.plane_query.open.empty() && announced.nonce == candidate.plane_query.nonce &&
           candidate.description.planes[0].addr == flow.src;
  });
  if (to == nullptr || announced.version != wire::Plth::kVersion || announced.plane >= PlaneSet::kMaxPlanes ||
      !to->plane_query.open.contains(PlaneId(announced.plane)) || !learn_plane(to, announced)) {
    ++engine_.counters.drop_stale;
    return;
  }
  use_plane(now, to, PlaneId(announced.plane), announced.ready);
}

// Applies one plane of an answer; false when it is invalid [MRC-EXT-5].
bool PlaneDiscovery::learn_plane(Peer* to, const wire::Plth& announced) {
  const EndpointConfig& c = engine_.config;
  if (announced.plane >= to->description.planes.size() || announced.plane >= c.planes.size()) return false;
  PlaneAddress next;
  if (announced.plane < announced.planes || !announced.addr.is_zero()) {
    const uint8_t slot = to->description.slot;
    const uint32_t port = slot == 0 || announced.port_base == 0 ? announced.port : uint32_t{announced.port_base} + slot;
    if (!sendable(announced.addr) || announced.addr.is_v4() != c.planes[announced.plane].addr.is_v4() || port == 0 ||
        port > UINT16_MAX)
      return false;
    next = {announced.addr, static_cast<uint16_t>(port)};
  }
  const PlaneAddress& at = to->description.planes[announced.plane];
  if (at.addr == next.addr && at.port == next.port) return true;
  if (!peers_.set_address(to, PlaneId(announced.plane), next)) return false;  // the query is repeated
  ++engine_.counters.planes_learnt;
  engine_.sink.on_peer_addresses(to->id);
  return true;
}

// After an answer: the plane is settled when the peer lacks it or accepts our packets on it; only then is it used
// [MRC-EXT-6].
void PlaneDiscovery::use_plane(Instant now, Peer* to, PlaneId plane, bool ready) {
  PlaneQuery& q = to->plane_query;
  const bool lacking = to->description.planes[plane].addr.is_zero();
  if (lacking || ready) q.open.erase(plane);
  if (q.open.empty()) q.next = Instant::never();
  const PlaneSet before = q.in_use;
  q.in_use.set(plane, ready && !lacking);
  if (q.in_use == before) return;
  to->paths.set_present_planes(q.in_use);
  engine_.report(now, Qpn(), TraceTrigger::kLearnt, event::Plane{.plane = plane, .up = to->paths.plane_usable(plane)});
  to->rearm(&engine_.timers);
  qps_.wake_senders();
}

void PlaneDiscovery::on_timer(Instant now) {
  Instant next = Instant::never();
  peers_.for_each([&](Peer* p) {
    if (p->plane_query.next <= now) query_planes(now, p);
    if (p->port_query.next <= now) query_ports(now, p);
    next = std::min({next, p->plane_query.next, p->port_query.next});
  });
  engine_.timers.set(&timer_, next);
}

// A query that is to be repeated has a time for it.
void PlaneDiscovery::check() const {
  if constexpr (!kCheckInvariants) return;
  peers_.for_each([&](const Peer* p) {
    MRC_INVARIANT(timer_.deadline <= std::min(p->plane_query.next, p->port_query.next));
    MRC_INVARIANT(!p->plane_query.open.empty() || p->plane_query.next == Instant::never());
    MRC_INVARIANT(p->port_query.open || p->port_query.next == Instant::never());
    MRC_INVARIANT(p->plane_query.in_use.empty() || p->description.planes.size() > 0);
  });
}

}  // namespace mrc::core
