// The source ports of a peer: queried when a QP goes to RTR towards it, part by part, and compared with every packet
// for a QP once the whole set is known [MRC-EXT-8..11, spec/wire.md] [MRC-SEC-9, spec/security.md].
//
// One request is outstanding at a time; it is repeated with a doubling pause until it is answered or the tries are used
// up. A peer that never answers (a NIC, or older software) is never compared. A packet from another port starts the
// query again: the peer's process may have been restarted and have other ports. The old set stays in force until the
// new one is complete, so that the loss of answers admits no other sender.
#include "core/flows.h"
#include "core/plane_discovery.h"

namespace mrc::core {

namespace {

constexpr Duration kMinPortQueryInterval = Duration::milliseconds(100);  // minimum time between queries

}  // namespace

// A query that ended because there was no QP to the peer any more does not count as recent.
void PlaneDiscovery::start_ports(Instant now, Peer* p) {
  if (!engine_.config.compare_source_ports || p->description.nic) return;
  const PortQuery& q = p->port_query;
  const bool interrupted = q.open && q.next == Instant::never() && !q.exhausted();
  if (!interrupted && now - q.begun < PendingQuery::kFresh) return;
  open_ports(now, p);
}

void PlaneDiscovery::open_ports(Instant now, Peer* p) {
  PortQuery& q = p->port_query;
  q.begin(now, nonces_.next());
  q.open = true;
  p->origin.source_ports.begin();
  query_ports(now, p);
}

void PlaneDiscovery::query_ports(Instant now, Peer* p) {
  PortQuery& q = p->port_query;
  if (!count_try(now, &q, q.open && !p->left())) return;
  const std::optional<EvIndex> ev = p->paths.pick_control(engine_.planes_up);
  if (!ev) return;
  const std::optional<wire::Flow> flow = make_flow(engine_.config, p->description, *ev, engine_.config.dscp.no_trim);
  if (!flow) return;
  wire::Bth bth;
  bth.dqp = wire::kEndpointQpn;
  const wire::Plth request = make_request(q, p->origin.source_ports.plane());
  wire::Spth part;
  part.first = p->origin.source_ports.first();
  if (control_.push(*flow, *ev,
                    [&](std::span<uint8_t> out) { return wire::encode_plane_request(out, bth, request, &part); }))
    ++engine_.counters.tx_port_requests;
}

// True: it has the nonce of the open query, comes from an address of the queried peer, and is the part that is due.
bool PlaneDiscovery::on_announced_ports(Instant now, const wire::Flow& flow, const wire::Packet& p) {
  if (p.plth.version != wire::Plth::kVersion) return false;
  Peer* const to = peers_.find_at(flow.src, [&](const Peer& candidate) {
    return candidate.port_query.open && p.plth.nonce == candidate.port_query.nonce;
  });
  if (to == nullptr) return false;
  PortQuery& q = to->port_query;
  const auto planes = static_cast<uint32_t>(to->description.planes.size());
  switch (to->origin.source_ports.take(PlaneId(p.plth.plane), p.plth.planes, planes, p.spth())) {
    case PeerSourcePorts::Part::kRefused:
      return false;
    case PeerSourcePorts::Part::kTaken:
      q.tries = 0;
      query_ports(now, to);
      break;
    case PeerSourcePorts::Part::kRestarted:  // tries keep counting, or a peer could keep the query open for ever
      query_ports(now, to);
      break;
    case PeerSourcePorts::Part::kComplete:
      q.open = false;
      q.next = Instant::never();
      ++engine_.counters.port_sets_learnt;
      break;
  }
  return true;
}

void PlaneDiscovery::on_foreign_port(Instant now, Peer* p) {
  engine_.report(now, Qpn(), TraceTrigger::kSourcePort, event::Drop{});
  PortQuery& q = p->port_query;
  if (now - q.queried_at < kMinPortQueryInterval) return;
  if (!q.open) {
    open_ports(now, p);
  } else if (q.exhausted()) {
    q.tries = 0;
    query_ports(now, p);
  }
}

}  // namespace mrc::core
