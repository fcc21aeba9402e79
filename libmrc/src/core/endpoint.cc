// Endpoint: commands and state transitions; queries are in endpoint_status.cc, everything else is in its parts.
#include "core/endpoint.h"

#include <algorithm>

#include "core/endpoint_parts.h"

namespace mrc::core {

Endpoint::Endpoint(const EndpointConfig& config, Sink* sink, TraceSink* trace)
    : parts_(std::make_unique<Parts>(config, sink, trace)) {}

Endpoint::~Endpoint() = default;

// --- driving -------------------------------------------------------------------------------------------------------

void Endpoint::handle_rx(Instant now, const RxBurst& burst) {
  const Checked checked(parts_.get());
  parts_->rx.handle(now, burst);
}

uint64_t Endpoint::long_payload() const {
  return parts_->engine.placement.long_payload;
}

bool Endpoint::poll_tx(Instant now, TxBurst* out, PlaneSet planes_with_room) {
  const Checked checked(parts_.get());
  return parts_->scheduler.poll(now, out, planes_with_room);
}

// Not more often than that, so that a host that pauses all the time still judges, by more than half of the time.
void Endpoint::on_resumed(Instant now) {
  constexpr Duration kPauseSpacing = Duration::milliseconds(10);
  Instant& ran_since = parts_->engine.ran_since;
  if (now - ran_since >= kPauseSpacing) ran_since = now;
}

Instant Endpoint::ran_since() const {
  return parts_->engine.ran_since;
}

void Endpoint::handle_timeout(Instant now) {
  const Checked checked(parts_.get());
  while (TimerNode* n = parts_->engine.timers.pop_due(now)) {
    if (n == parts_->prober.timer()) {
      parts_->prober.on_timer(now);
    } else if (n == parts_->discovery.timer()) {
      parts_->discovery.on_timer(now);
    } else if (n->qp != nullptr) {
      n->qp->on_timer(now);
    } else {
      parts_->prober.probe_paths(now, n->peer);
    }
  }
}

// --- memory and peers ----------------------------------------------------------------------------------------------

MemoryTable& Endpoint::memory() {
  return parts_->engine.memory;
}

PeerId Endpoint::intern_peer(const PeerDescription& peer) {
  const Checked checked(parts_.get());
  return parts_->peers.intern(peer);
}

void Endpoint::release_peer(PeerId id) {
  const Checked checked(parts_.get());
  parts_->peers.release(id);
}

// --- queue pairs ---------------------------------------------------------------------------------------------------

Qp* Endpoint::create_qp(const QpInit& init) {
  const Checked checked(parts_.get());
  return parts_->datagrams.has(init.qpn) ? nullptr : parts_->qps.create(parts_->services, init);
}

void Endpoint::destroy_qp(Qp* qp) {
  const Checked checked(parts_.get());
  parts_->qps.destroy(qp);
}

bool Endpoint::modify_qp(Instant now, Qp* qp, QpState to, const QpAttr& attr) {
  const Checked checked(parts_.get());
  const QpState from = qp->state;
  if (!is_transition(from, to)) return false;
  if (to == QpState::kRtr &&
      (!has_peer(attr.peer) || attr.path_mtu < PathMtu::kSmallest || attr.path_mtu > PathMtu::kLargest))
    return false;
  if (to != QpState::kError) qp->attr = attr;
  switch (to) {
    case QpState::kReset:
      qp->reset();
      parts_->qps.set_peer(qp, kNoPeer);
      break;
    case QpState::kInit:
      break;
    case QpState::kRtr:
      parts_->qps.set_peer(qp, attr.peer);
      qp->peer->mtu.largest = std::max(qp->peer->mtu.largest, attr.path_mtu);
      if (qp->peer->answers()) qp->peer->paths.begin_first_probes(now);
      qp->peer->rearm(&parts_->engine.timers);
      parts_->discovery.on_qp_up(now, qp->peer);
      qp->responder.start();
      break;
    case QpState::kRts:
      if (from == QpState::kRtr) qp->requester.start(now);
      break;
    case QpState::kError:
      if (from == QpState::kError) return true;
      qp->flush_by_application(now);
      break;
  }
  qp->state = to;
  parts_->engine.report(now, qp->qpn, TraceTrigger::kApplication, event::QpState{.state = to});
  return true;
}

void Endpoint::set_mailbox(Qp* qp, const Mailbox& mailbox) {
  qp->mailbox = mailbox;
}

PostResult Endpoint::post_send(Instant now, Qp* qp, const SendWr& wr) {
  const Checked checked(parts_.get());
  if (qp->state != QpState::kRts && qp->state != QpState::kError) return PostResult::kBadState;
  const PostResult r = qp->requester.post(now, wr);
  if (r != PostResult::kOk) return r;
  if (qp->state == QpState::kError) {
    qp->requester.flush(now, WcStatus::kFlushed);
  } else {
    qp->peer->paths.end_first_probes();
    parts_->scheduler.make_ready(qp);
  }
  return r;
}

PostResult Endpoint::post_recv(Instant now, Qp* qp, uint64_t wr_id) {
  const Checked checked(parts_.get());
  if (qp->state == QpState::kReset) return PostResult::kBadState;
  const PostResult r = qp->responder.post_recv(now, wr_id);
  if (r == PostResult::kOk && qp->state == QpState::kError) qp->responder.flush();
  return r;
}

void Endpoint::flush_acks(Qp* qp) {
  const Checked checked(parts_.get());
  if (qp->peer != nullptr) qp->responder.flush_acks();
}

void Endpoint::flush_all_acks() {
  parts_->qps.for_each([this](Qp* qp) { flush_acks(qp); });
}

void Endpoint::repeat_acks(Instant now, Instant since) {
  const Checked checked(parts_.get());
  parts_->qps.for_each([since](Qp* qp) {
    if (qp->peer != nullptr) qp->responder.repeat_ack(since);
  });
  parts_->tombstones.repeat(now, since);
}

// --- datagram queue pairs ------------------------------------------------------------------------------------------

DatagramQp* Endpoint::create_datagram_qp(const DatagramQpInit& init) {
  const Checked checked(parts_.get());
  return parts_->qps.find(init.qpn) == nullptr ? parts_->datagrams.create(init) : nullptr;
}

void Endpoint::destroy_datagram_qp(DatagramQp* qp) {
  const Checked checked(parts_.get());
  parts_->datagrams.destroy(qp);
}

bool Endpoint::modify_datagram_qp(Instant now, DatagramQp* qp, QpState to, const DatagramAttr& attr) {
  const Checked checked(parts_.get());
  return parts_->datagrams.modify(now, qp, to, attr);
}

PostResult Endpoint::post_datagram(DatagramQp* qp, const DatagramWr& wr) {
  const Checked checked(parts_.get());
  return parts_->datagrams.post_send(qp, wr);
}

PostResult Endpoint::post_datagram_recv(DatagramQp* qp, uint64_t wr_id, const Sge* sges, uint32_t num_sge) {
  const Checked checked(parts_.get());
  return parts_->datagrams.post_recv(qp, wr_id, sges, num_sge);
}

Attached Endpoint::attach_datagram_qp(DatagramQp* qp, const IpAddress& group) {
  const Checked checked(parts_.get());
  return parts_->datagrams.groups().attach(qp, group);
}

bool Endpoint::detach_datagram_qp(DatagramQp* qp, const IpAddress& group) {
  const Checked checked(parts_.get());
  return parts_->datagrams.groups().detach(qp, group);
}

void Endpoint::set_receiver_penalty(uint8_t penalty, bool restore) {
  parts_->engine.receiver_penalty = {static_cast<uint8_t>(penalty & 0x7F), restore};
}

// --- paths ---------------------------------------------------------------------------------------------------------

void Endpoint::set_plane_up(Instant now, PlaneId plane, bool up) {
  const Checked checked(parts_.get());
  parts_->prober.set_plane_up(now, plane, up);
}

void Endpoint::set_plane_address(Instant now, PlaneId plane, const IpAddress& addr) {
  const Checked checked(parts_.get());
  parts_->engine.config.planes[plane].addr = addr;
  parts_->discovery.on_own_address(now);
}

void Endpoint::on_packet_too_long(Instant now, PlaneId plane, const IpAddress& to) {
  const Checked checked(parts_.get());
  parts_->prober.on_packet_too_long(now, plane, to);
}

void Endpoint::on_pipe_ended(uint32_t pipe) {
  const Checked checked(parts_.get());
  parts_->peers.for_each([pipe](Peer* p) { std::replace(p->origin.pipes.begin(), p->origin.pipes.end(), pipe, 0u); });
}

void Endpoint::set_ev_denied(Instant now, PeerId id, EvIndex ev_index, bool denied) {
  const Checked checked(parts_.get());
  Peer* const p = parts_->peers.find(id);
  if (p == nullptr || !parts_->engine.config.evs.has(ev_index)) return;
  p->paths.set_denied(now, ev_index, denied);
  p->rearm(&parts_->engine.timers);
}

void Endpoint::on_path_failed(Instant now, const PathReport& path) {
  const Checked checked(parts_.get());
  parts_->peers.find_at(path.addr, [&](Peer& p) {
    const PerPlane<PlaneAddress>& planes = p.description.planes;
    if (!p.answers() || !planes.has(path.plane) || planes[path.plane].addr != path.addr) return false;
    for (const EvIndex ev : parts_->engine.evs.names.indices_of(path.ev))
      if (p.paths.plane_of(ev) == path.plane) p.paths.on_failed_elsewhere(now, ev);
    p.rearm(&parts_->engine.timers);
    return false;  // and every other peer there
  });
}

bool Endpoint::start_endpoint_op(Instant now, PeerId peer, EvIndex ev_index, uint16_t id, bool port_status,
                                 PlaneSet planes_up, Duration timeout, uint8_t traffic_class) {
  const Checked checked(parts_.get());
  EndpointRequest op;
  op.peer = peer;
  op.ev = ev_index;
  op.id = id;
  op.dscp = traffic_class != 0 ? static_cast<uint8_t>(traffic_class >> 2) : parts_->engine.config.dscp.no_trim;
  op.port_status = port_status;
  op.planes_up = planes_up;
  return parts_->prober.start(now, op, timeout);
}

bool Endpoint::awaits_address(Instant now, PeerId peer, EvIndex ev_index) {
  const Checked checked(parts_.get());
  Peer* const p = parts_->peers.find(peer);
  const PerEv<EvEntry>& evs = parts_->engine.config.evs;
  return p != nullptr && evs.has(ev_index) && parts_->discovery.awaits_address(now, p, evs[ev_index].plane);
}

void Endpoint::count_out_of_memory() {
  ++parts_->engine.counters.out_of_memory;
}

}  // namespace mrc::core
