#include "sim/model/mrc_nic.h"

#include <algorithm>
#include <cstring>

namespace mrc::sim {
namespace {

constexpr uint32_t kSendQueue = 64;
constexpr uint32_t kReceiveQueue = 256;
constexpr uint32_t kMaxPeers = 0xFFFFFF;

// One burst for all NICs: the simulator has one thread, and a burst is sent before the next one is requested.
core::TxBurst& shared_burst() {
  static const auto burst = std::make_unique<core::TxBurst>();
  return *burst;
}

core::EndpointConfig endpoint_config(const MrcConfig& config, const FabricPlan& plan, uint32_t index, uint64_t seed,
                                     const std::vector<Ev>& evs) {
  core::EndpointConfig c = config.endpoint;
  c.seed = seed;
  c.icrc = false;
  c.compare_source_ports = false;  // there is no forger here, and only the protocol's own packets are measured
  for (uint32_t p = 0; p < plan.spec().planes; ++p) c.planes.push_back({plan.nic_address(p, index), 4791});
  // A hash of the EV names no T1.
  const bool named = plan.spec().sw.forwarding != Forwarding::kEcmp;
  for (const Ev& e : evs) c.evs.push_back({e.value, plane_at(e.plane), named ? plan.t1_of(e.value) + 1 : 0});
  c.ev_active = plan.spec().ev.count;
  return c;
}

}  // namespace

MrcNic::MrcNic(uint32_t index, PacketPool* pool, const FabricPlan* plan, const MrcConfig& config, uint64_t seed,
               const std::vector<std::unique_ptr<NicBase>>* nics, const Tracer* tracer)
    : NicBase(index, pool, plan), config_(config), nics_(nics), tracer_(tracer), evs_(plan->evs(index, seed)) {
  endpoint_ = std::make_unique<core::Endpoint>(endpoint_config(config, *plan, index, seed * 1000003 + index, evs_),
                                               this, *tracer ? this : nullptr);
  memory_.register_with(endpoint_.get());
}

MrcNic::~MrcNic() = default;

core::PeerId MrcNic::intern(uint32_t nic) {
  const auto found = peers_.find(nic);
  if (found != peers_.end()) return found->second;
  core::PeerDescription d;
  for (uint32_t p = 0; p < plan_->spec().planes; ++p) d.planes.push_back({plan_->nic_address(p, nic), 4791});
  return peers_[nic] = endpoint_->intern_peer(d);
}

core::PeerId MrcNic::peer_of(uint32_t nic) const {
  const auto found = peers_.find(nic);
  return found == peers_.end() ? core::kNoPeer : found->second;
}

std::unique_ptr<MrcNic::Connection> MrcNic::make_connection(MrcNic* peer) {
  auto c = std::make_unique<Connection>();
  c->nic = this;
  core::QpInit init;
  init.sink = c.get();
  init.qpn = c->qpn = Qpn(next_qpn_++);
  init.pd = VirtualMemory::kPd;
  init.caps = {kSendQueue, kReceiveQueue, 1, 0};
  c->qp = endpoint_->create_qp(init);
  intern(peer->index());
  return c;
}

void MrcNic::bring_up(Connection* c, Qpn peer_qpn, core::PeerId peer_id) {
  core::QpAttr a = config_.qp;
  a.peer = peer_id;
  a.dest_qpn = peer_qpn;
  a.access = core::kAccessLocalWrite | core::kAccessRemoteWrite;
  const Instant now = to_instant(now_ps());
  for (core::QpState s : {core::QpState::kInit, core::QpState::kRtr, core::QpState::kRts})
    endpoint_->modify_qp(now, c->qp, s, a);
  for (uint32_t i = 0; i < kReceiveQueue; ++i) endpoint_->post_recv(now, c->qp, i);
}

// Both ends at once, as an application's out-of-band exchange leaves them.
MrcNic::Connection* MrcNic::connection_to(uint32_t peer, uint32_t slot) {
  if (Connection* const found = connections_.find(peer, slot)) return found;
  auto* other = static_cast<MrcNic*>((*nics_)[peer].get());
  Connection* const ours = connections_.add(peer, slot, make_connection(other));
  Connection* const theirs = other->connections_.add_passive(other->make_connection(this));
  bring_up(ours, theirs->qpn, peers_[peer]);
  other->bring_up(theirs, ours->qpn, other->peers_[index_]);
  return ours;
}

// Both ends test their paths from now on.
void MrcNic::connect(uint32_t dst, uint32_t qp) {
  connection_to(dst, qp);
  pump();
  static_cast<MrcNic*>((*nics_)[dst].get())->pump();
}

void MrcNic::send(const Message& m) {
  post(connection_to(m.dst, m.qp), m);
  pump();
}

void MrcNic::post(Connection* c, const Message& m) {
  if (c->failed) {
    done_.add({c, m.id, false, true});
    return;
  }
  const auto* other = static_cast<const MrcNic*>((*nics_)[m.dst].get());
  const core::Sge sge{0, static_cast<uint32_t>(m.bytes), memory_.local_key()};
  core::SendWr wr;
  wr.wr_id = m.id;
  wr.op = core::SendOp::kWriteImm;
  wr.signaled = true;
  wr.sges = &sge;
  wr.num_sge = 1;
  wr.rkey = other->memory_.remote_key();
  wr.imm = m.id;
  if (!c->waiting.empty() || endpoint_->post_send(to_instant(now_ps()), c->qp, wr) != core::PostResult::kOk)
    c->waiting.push_back(m);
}

bool MrcNic::Connection::on_completion(const core::Completion& completion) {
  const bool ok = completion.status == core::WcStatus::kSuccess;
  if (!ok && !failed) {
    failed = true;
    ++nic->qp_errors_;
  }
  if (completion.is_recv) {
    if (ok) nic->done_.add({this, completion.imm, true, false});
  } else {
    nic->done_.add({this, static_cast<uint32_t>(completion.wr_id), false, !ok});
  }
  return true;
}

void MrcNic::on_trace(const core::TraceEntry& e) {
  (*tracer_)(index_, e);
}

void MrcNic::report_completions() {
  done_.drain([this](const Done& done) { report(done); });
}

void MrcNic::report(const Done& done) {
  Connection* c = done.connection;
  if (done.received) {
    endpoint_->post_recv(to_instant(now_ps()), c->qp, 0);
  } else if (!c->waiting.empty()) {
    const std::deque<Message> queued = std::move(c->waiting);
    c->waiting.clear();
    for (const Message& m : queued) post(c, m);
  }
  if (listener_ == nullptr) return;
  if (done.received) {
    listener_->on_received(done.id);
  } else if (done.failed) {
    listener_->on_failed(done.id);
  } else {
    listener_->on_sent(done.id);
  }
}

PlaneSet MrcNic::planes_with_room() const {
  PlaneSet room;
  for (const PlaneId p : PlaneSet::all(ports_.size())) room.set(p, has_room(p.value()));
  return room;
}

void MrcNic::pump() {
  if (pumping_) return;
  pumping_ = true;
  core::TxBurst& burst = shared_burst();
  const Instant now = to_instant(now_ps());
  for (;;) {
    report_completions();
    const PlaneSet room = planes_with_room();
    if (room.empty() || !endpoint_->poll_tx(now, &burst, room)) {
      if (done_.empty()) break;
      continue;
    }
    transmit(burst);
  }
  pumping_ = false;
  arm_timer();
}

void MrcNic::transmit(const core::TxBurst& burst) {
  const bool control = burst.flow.dscp() == config_.endpoint.dscp.control;
  const bool trimmable =
      burst.flow.dscp() == config_.endpoint.dscp.trimmable || burst.flow.dscp() == config_.endpoint.dscp.trimmable_retx;
  const auto peer = plan_->nic_of(burst.flow.dst);
  if (!peer) return;
  const IpAddress path =
      plan_->path(burst.plane.value(), index_, plan_->t1_of(evs_[burst.ev_index.value()].value), peer->nic);
  uint32_t piece = 0, used = 0;  // where the next segment begins among the iovecs
  for (uint32_t offset = 0; offset < burst.bytes;) {
    const uint32_t n = std::min(burst.segment_size, burst.bytes - offset);
    offset += n;
    Packet* p = pool_->take();
    p->flow = burst.flow;
    p->path = path;
    p->udp_bytes = n;
    p->bytes = n + plan_->spec().overhead;
    p->tc = control ? TrafficClass::kControl : TrafficClass::kData;
    p->trimmable = trimmable;
    p->plane = burst.plane.value();
    // Headers are the first piece of a segment; what follows is payload, which does not exist.
    const iovec& first = burst.iov[piece];
    p->header_bytes =
        static_cast<uint16_t>(std::min<size_t>({p->header.size(), first.iov_len - used, static_cast<size_t>(n)}));
    std::memcpy(p->header.data(), static_cast<const uint8_t*>(first.iov_base) + used, p->header_bytes);
    for (uint32_t left = n; left > 0;) {
      const auto here = static_cast<uint32_t>(std::min<size_t>(left, burst.iov[piece].iov_len - used));
      left -= here;
      used += here;
      if (used == burst.iov[piece].iov_len) {
        ++piece;
        used = 0;
      }
    }
    ports_[burst.plane.value()]->enqueue(p);
  }
}

void MrcNic::receive(Packet* p, uint16_t plane) {
  if (p->tc == TrafficClass::kData) {
    ++plane_counters_[plane].rx_data_packets;
    plane_counters_[plane].rx_data_bytes += p->udp_bytes;
  }
  core::RxBurst burst;
  burst.flow = p->flow;
  burst.plane = plane_at(plane);
  burst.data = p->header.data();
  burst.bytes = burst.segment_size = p->udp_bytes;
  const uint64_t placed = endpoint_->counters().rx_data;
  endpoint_->handle_rx(to_instant(now_ps()), burst);
  if (endpoint_->counters().rx_data != placed) goodput_bytes_ += p->udp_bytes - FabricSpec::kTransportBytes;
  pool_->give(p);
  pump();
}

void MrcNic::on_room(uint16_t) {
  pump();
}

void MrcNic::on_carrier(uint16_t plane, bool up) {
  schedule_in(config_.carrier_delay, [this, plane, up] {
    if (ports_[plane]->up() != up) return;  // it has changed again meanwhile
    endpoint_->set_plane_up(to_instant(now_ps()), plane_at(plane), up);
    pump();
  });
}

// A wake-up that is too early costs one event; so the pending one is kept unless the engine needs an earlier one.
void MrcNic::arm_timer() {
  const Ps want = from_instant(endpoint_->next_timeout());
  if (want >= timer_at_) return;
  timer_at_ = std::max(want, now_ps());
  timer_event_.schedule_at(timer_at_);
}

void MrcNic::on_timer() {
  if (now_ps() < timer_at_) return;  // an older wake-up
  timer_at_ = INT64_MAX;
  const Instant now = to_instant(now_ps());
  if (endpoint_->next_timeout() <= now) endpoint_->handle_timeout(now);
  pump();
}

void MrcNic::each_counter(const std::function<void(const char*, uint64_t)>& f) const {
  const core::Counters& c = endpoint_->counters();
#define MRC_SIM_COUNTER(name, sentence) f(#name, c.name);
  MRC_COUNTERS(MRC_SIM_COUNTER)
#undef MRC_SIM_COUNTER
}

}  // namespace mrc::sim
