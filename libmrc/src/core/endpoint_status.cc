// Queries of an endpoint: its state and its measurements. None of them changes anything.
#include "core/endpoint_parts.h"

namespace mrc::core {

Instant Endpoint::next_timeout() const {
  return parts_->engine.timers.next();
}

std::vector<PeerId> Endpoint::peers() const {
  return parts_->peers.ids();
}

bool Endpoint::has_peer(PeerId id) const {
  return parts_->peers.find(id) != nullptr;
}

const PeerDescription& Endpoint::peer_description(PeerId id) const {
  return parts_->peers.find(id)->description;
}

QpState Endpoint::qp_state(const Qp* qp) const {
  return qp->state;
}

QpStatus Endpoint::qp_status(const Qp* qp) const {
  QpStatus s;
  s.qpn = qp->qpn;
  s.dest_qpn = qp->attr.dest_qpn;
  s.state = qp->state;
  s.peer = qp->peer != nullptr ? qp->peer->id : kNoPeer;
  s.rx_packets = qp->responder.rx_packets();
  qp->requester.fill_status(&s);
  return s;
}

std::vector<QpStatus> Endpoint::all_qp_status() const {
  std::vector<QpStatus> all;
  parts_->qps.for_each([&](const Qp* qp) { all.push_back(qp_status(qp)); });
  return all;
}

bool Endpoint::qp_busy(const Qp* qp) const {
  return qp->busy();
}

QpState Endpoint::datagram_qp_state(const DatagramQp* qp) const {
  return qp->state();
}

bool Endpoint::has_group(const IpAddress& group) const {
  return parts_->datagrams.groups().has(group);
}

std::vector<IpAddress> Endpoint::groups_of(const DatagramQp* qp) const {
  return parts_->datagrams.groups().of(qp);
}

bool Endpoint::plane_up(PlaneId plane) const {
  return parts_->engine.plane_up(plane);
}

uint32_t Endpoint::found_path_mtu(Instant now) const {
  return parts_->prober.found_path_mtu(now);
}

PerEv<EvStatus> Endpoint::ev_status(PeerId id) const {
  const Peer* const p = parts_->peers.find(id);
  return p != nullptr ? p->paths.status() : PerEv<EvStatus>();
}

PeerLatency Endpoint::peer_latency(PeerId id) const {
  const Peer* const p = parts_->peers.find(id);
  return p != nullptr ? p->latency : PeerLatency();
}

const DelayHistogram* Endpoint::retransmission_delays(const Qp* qp) const {
  return qp->requester.retransmission_delays();
}

PerEv<EvStatus> Endpoint::ev_status(const Qp* qp) const {
  if (qp->peer == nullptr) return {};
  PerEv<EvStatus> all = qp->peer->paths.status();
  for (const EvIndex i : all.ids())
    if (all[i].state == EvState::kGood && qp->requester.rotation().skipped(i)) all[i].state = EvState::kSkip;
  return all;
}

size_t Endpoint::control_waiting() const {
  return parts_->control.waiting();
}

const Counters& Endpoint::counters() const {
  return parts_->engine.counters;
}

const PlaneCounters& Endpoint::plane_counters(PlaneId plane) const {
  return parts_->engine.plane_counters[plane];
}

}  // namespace mrc::core
