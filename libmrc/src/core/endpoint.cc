// Endpoint: commands, the QP table, state transitions and the public face.
#include "core/endpoint.h"

#include <algorithm>

#include "core/endpoint_impl.h"

namespace mrc::core {

EndpointImpl::EndpointImpl(const EndpointConfig& c, Sink* s, TraceSink* t)
    : config(c),
      ev_names(config.evs),
      sink(s),
      trace_sink(t),
      rng(c.seed),
      message_secret(Rng(~c.seed).next() | 1),
      own_ports(c),
      memory(rng.next()),
      plane_counters(c.planes.size()),
      reply_limiter_(message_secret),
      nonces_(message_secret + 1) {
  ops_.reserve(256);
}

// [MRC-CHOICE-Q2]
uint16_t EndpointImpl::ev_index_of(uint32_t value) const {
  const uint16_t found = ev_names.find(value);
  return found != UINT16_MAX ? found : ev_names.find(value >> 16 | value << 16);
}

Qp* EndpointImpl::find_qp(uint32_t qpn) const {
  const uint32_t i = slot_of(qpn);
  Qp* qp = i < qps_.size() ? qps_[i] : nullptr;
  return qp != nullptr && qp->qpn == qpn ? qp : nullptr;
}

void Qp::rearm() {
  ep->timers.set(&timer, std::min(requester.deadline(), responder.deadline()));
}

void EndpointImpl::forget(Qp* qp) {
  ready_.remove(qp);
  control_.remove(qp);
  timers.remove(&qp->timer);
}

void EndpointImpl::set_peer(Qp* qp, PeerId id) {
  Peer* next = peer(id);
  if (next != nullptr) ++next->refs;
  if (qp->peer != nullptr) release_peer(qp->peer->id);
  qp->peer = next;
}

void EndpointImpl::release_peer(PeerId id) {
  Peer* p = peer(id);
  if (p == nullptr) return;
  if (--p->refs > 0) {
    if (p->left()) leave_peer(p);
    return;
  }
  timers.remove(&p->timer);
  drop_ops([&](const EndpointOpRecord& op) { return op.peer == id; });
  peers_[id].reset();
}

// Puts a tombstone, or none, in the place of the last one of that number.
void EndpointImpl::bury(uint32_t index, const Tombstone& t) {
  const PeerId old = tombstones_[index].peer;
  tombstones_[index] = t;
  if (Peer* p = peer(t.peer); p != nullptr) ++p->refs, ++p->graves;
  if (old == kNoPeer) return;
  --peer(old)->graves;
  release_peer(old);
}

// Error: nothing is sent any more except verdicts, outstanding work is completed with `first` and flush errors.
// [MRC-QP-2]
void EndpointImpl::enter_error(Instant now, Qp* qp, WcStatus first, AsyncEvent event) {
  if (qp->state == QpState::kError) return;
  qp->state = QpState::kError;
  ++counters.qp_errors;
  trace(now, qp->qpn, TraceEvent::kQpState, TraceTrigger::kFatal, static_cast<uint64_t>(QpState::kError),
        static_cast<uint64_t>(first));
  ready_.remove(qp);
  qp->requester.flush(now, first);
  qp->responder.flush();
  qp->rearm();
  sink->on_qp_event(qp->cookie, event);
}

bool EndpointImpl::modify(Instant now, Qp* qp, QpState to, const QpAttr& attr) {
  const QpState from = qp->state;
  const bool legal = to == QpState::kReset || to == QpState::kError ||
                     (from == QpState::kReset && to == QpState::kInit) ||
                     (from == QpState::kInit && (to == QpState::kInit || to == QpState::kRtr)) ||
                     (from == QpState::kRtr && to == QpState::kRts) || (from == QpState::kRts && to == QpState::kRts);
  if (!legal) return false;
  if (to == QpState::kRtr && (peer(attr.peer) == nullptr || attr.path_mtu < 256 || attr.path_mtu > 8192)) return false;
  if (to != QpState::kError) qp->attr = attr;
  switch (to) {
    // [MRC-QP-3]
    case QpState::kReset:
      forget(qp);
      qp->requester.reset();
      qp->responder.reset();
      set_peer(qp, kNoPeer);
      qp->state = to;
      break;
    case QpState::kInit:
      qp->state = to;
      break;
    case QpState::kRtr:
      set_peer(qp, attr.peer);
      qp->peer->path_mtu = std::max(qp->peer->path_mtu, attr.path_mtu);
      rearm_peer(qp->peer);
      start_learning(now, qp->peer);
      start_port_question(now, qp->peer);
      qp->responder.start();
      qp->state = to;
      break;
    case QpState::kRts:
      if (from == QpState::kRtr) qp->requester.start(now);
      qp->state = to;
      break;
    case QpState::kError:
      if (from == QpState::kError) return true;
      qp->state = to;
      ready_.remove(qp);
      qp->requester.flush(now, WcStatus::kFlushed);
      qp->responder.flush();
      qp->rearm();
      break;
  }
  trace(now, qp->qpn, TraceEvent::kQpState, TraceTrigger::kApplication, static_cast<uint64_t>(to), 0);
  return true;
}

Endpoint::Endpoint(const EndpointConfig& config, Sink* sink, TraceSink* trace)
    : impl_(std::make_unique<EndpointImpl>(config, sink, trace)) {}

Endpoint::~Endpoint() {
  for (Qp* qp : impl_->qps_)
    if (qp != nullptr) destroy_qp(qp);
}

void Endpoint::handle_rx(Instant now, const RxBurst& burst) {
  impl_->handle_rx(now, burst);
}
bool Endpoint::poll_tx(Instant now, TxBurst* out, uint32_t planes_with_room) {
  return impl_->poll_tx(now, out, planes_with_room);
}
Instant Endpoint::next_timeout() const {
  return impl_->timers.next();
}
void Endpoint::handle_timeout(Instant now) {
  impl_->handle_timeout(now);
}
MemoryTable& Endpoint::memory() {
  return impl_->memory;
}

PeerId Endpoint::intern_peer(const PeerDescription& description) {
  auto& peers = impl_->peers_;
  size_t free = peers.size();
  for (size_t i = 0; i < peers.size(); ++i) {
    if (!peers[i]) {
      free = i;
    } else if (peers[i]->interned == description) {
      ++peers[i]->refs;
      return static_cast<PeerId>(i);
    }
  }
  if (free == peers.size()) peers.emplace_back();
  impl_->timers.reserve(impl_->qps_.size() + peers.size() + 3);
  peers[free] = std::make_unique<Peer>(static_cast<PeerId>(free), description, impl_->config, impl_->ev_names,
                                       &impl_->counters, impl_->trace_sink, &impl_->rng);
  peers[free]->refs = 1;
  peers[free]->paths.tell(impl_->sink);
  peers[free]->paths.set_local_planes(impl_->planes_up);
  impl_->sink->on_peer_addresses(static_cast<PeerId>(free));
  return static_cast<PeerId>(free);
}
void Endpoint::release_peer(PeerId id) {
  impl_->release_peer(id);
}

std::vector<PeerId> Endpoint::peers() const {
  std::vector<PeerId> ids;
  for (const auto& peer : impl_->peers_)
    if (peer != nullptr) ids.push_back(peer->id);
  return ids;
}

bool Endpoint::has_peer(PeerId id) const {
  return impl_->peer(id) != nullptr;
}

const PeerDescription& Endpoint::peer_description(PeerId id) const {
  return impl_->peer(id)->description;
}

Qp* Endpoint::create_qp(const QpInit& init) {
  if (impl_->slots_.empty()) impl_->slots_.resize(1u << 16);
  uint16_t& slot = impl_->slots_[init.qpn & 0xFFFF];
  const uint32_t i = slot != 0 ? slot - 1u : static_cast<uint32_t>(impl_->qps_.size());
  if (i >= UINT16_MAX || impl_->live_qps_ >= impl_->config.max_qps) return nullptr;
  if (slot == 0) {
    impl_->tombstones_.resize(i + 1);
    impl_->qps_.resize(i + 1);
    slot = static_cast<uint16_t>(i + 1);
  }
  if (impl_->qps_[i] != nullptr) return nullptr;
  impl_->timers.reserve(impl_->qps_.size() + impl_->peers_.size() + 3);
  auto qp = std::make_unique<Qp>(impl_.get(), init);
  qp->requester.init(init.caps);
  qp->responder.init(init.caps);
  impl_->bury(i, Tombstone());
  ++impl_->live_qps_;
  return impl_->qps_[i] = qp.release();
}

void Endpoint::destroy_qp(Qp* qp) {
  const Responder& responder = qp->responder;
  if (qp->peer != nullptr && responder.rx_packets > 0) {
    Tombstone t;
    t.last = responder.transport_ack(responder.faulted());
    t.peer = qp->peer->id;
    t.heard = responder.last_request();
    impl_->bury(impl_->slot_of(qp->qpn), t);
  }
  impl_->forget(qp);
  qp->requester.reset();
  impl_->set_peer(qp, kNoPeer);
  impl_->qps_[impl_->slot_of(qp->qpn)] = nullptr;
  --impl_->live_qps_;
  delete qp;
}

bool Endpoint::modify_qp(Instant now, Qp* qp, QpState to, const QpAttr& attr) {
  return impl_->modify(now, qp, to, attr);
}
QpState Endpoint::qp_state(const Qp* qp) const {
  return qp->state;
}

void Endpoint::set_mailbox(Qp* qp, const Mailbox& mailbox) {
  qp->mailbox = mailbox;
}

QpStatus Endpoint::qp_status(const Qp* qp) const {
  QpStatus s;
  s.qpn = qp->qpn;
  s.dest_qpn = qp->attr.dest_qpn;
  s.state = qp->state;
  s.peer = qp->peer != nullptr ? qp->peer->id : kNoPeer;
  s.rx_packets = qp->responder.rx_packets;
  qp->requester.fill_status(&s);
  return s;
}

std::vector<QpStatus> Endpoint::all_qp_status() const {
  std::vector<QpStatus> all;
  for (const Qp* qp : impl_->qps_)
    if (qp != nullptr) all.push_back(qp_status(qp));
  return all;
}

PostResult Endpoint::post_send(Instant now, Qp* qp, const SendWr& wr) {
  if (qp->state != QpState::kRts && qp->state != QpState::kError) return PostResult::kBadState;
  const PostResult r = qp->requester.post(wr);
  if (r != PostResult::kOk) return r;
  if (qp->state == QpState::kError) {
    qp->requester.flush(now, WcStatus::kFlushed);
  } else {
    impl_->make_ready(qp);
  }
  return r;
}

PostResult Endpoint::post_recv(Instant now, Qp* qp, uint64_t wr_id) {
  if (qp->state == QpState::kReset) return PostResult::kBadState;
  const PostResult r = qp->responder.post_recv(now, wr_id);
  if (r == PostResult::kOk && qp->state == QpState::kError) qp->responder.flush();
  return r;
}

bool Endpoint::qp_busy(const Qp* qp) const {
  return !qp->requester.idle() || qp->responder.owes() || qp->responder.deadline() < Instant::never();
}

void Endpoint::flush_acks(Qp* qp) {
  if (qp->peer != nullptr) qp->responder.flush_acks();
}
void Endpoint::flush_all_acks() {
  for (Qp* qp : impl_->qps_)
    if (qp != nullptr) flush_acks(qp);
}

void Endpoint::repeat_acks(Instant now, Instant since) {
  for (Qp* qp : impl_->qps_)
    if (qp != nullptr && qp->peer != nullptr) qp->responder.repeat_ack(since);
  for (Tombstone& t : impl_->tombstones_)
    if (t.peer != kNoPeer && t.heard >= since) impl_->ack_for_tombstone(now, &t);
}

void Endpoint::set_receiver_penalty(uint8_t penalty, bool restore) {
  impl_->receiver_penalty = penalty & 0x7F;
  impl_->restore_cwnd = restore;
}

void Endpoint::set_plane_up(Instant now, uint8_t plane, bool up) {
  impl_->set_plane_up(now, plane, up);
}
void Endpoint::on_packet_too_long(Instant now, uint8_t plane, const IpAddress& to) {
  impl_->on_packet_too_long(now, plane, to);
}
void Endpoint::on_pipe_ended(uint32_t pipe) {
  for (const std::unique_ptr<Peer>& p : impl_->peers_)
    if (p != nullptr) std::replace(p->pipes.begin(), p->pipes.end(), pipe, 0u);
}
uint32_t Endpoint::found_path_mtu(Instant now) const {
  return now < impl_->found_mtu_until ? impl_->found_mtu : UINT32_MAX;
}
bool Endpoint::plane_up(uint8_t plane) const {
  return (impl_->planes_up >> plane) & 1;
}

void Endpoint::set_ev_denied(Instant now, PeerId id, uint16_t ev_index, bool denied) {
  Peer* p = impl_->peer(id);
  if (p == nullptr || ev_index >= impl_->config.evs.size()) return;
  p->paths.set_denied(now, ev_index, denied);
  impl_->rearm_peer(p);
}

std::vector<EvStatus> Endpoint::ev_status(PeerId id) const {
  const Peer* p = impl_->peer(id);
  return p != nullptr ? p->paths.status() : std::vector<EvStatus>();
}

std::vector<EvStatus> Endpoint::ev_status(const Qp* qp) const {
  if (qp->peer == nullptr) return {};
  std::vector<EvStatus> all = qp->peer->paths.status();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].state == EvState::kGood && qp->requester.rotation().skipped(static_cast<uint16_t>(i)))
      all[i].state = EvState::kSkip;
  return all;
}

bool Endpoint::start_endpoint_op(Instant now, PeerId peer, uint16_t ev_index, uint16_t id, bool port_status,
                                 uint32_t mask, Duration timeout, uint8_t traffic_class) {
  return impl_->start_op(now, peer, ev_index, id, port_status, mask, timeout, false, traffic_class);
}

size_t Endpoint::control_waiting() const {
  return impl_->one_offs_.count;
}

const Counters& Endpoint::counters() const {
  return impl_->counters;
}
const PlaneCounters& Endpoint::plane_counters(uint8_t plane) const {
  return impl_->plane_counters[plane];
}

}  // namespace mrc::core
