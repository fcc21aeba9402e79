#include "sim/model/roce_nic.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "sim/model/selective_repeat.h"

namespace mrc::sim {
namespace {

constexpr uint32_t kDataHeaders = 32;   // BTH, RETH, ICRC
constexpr uint32_t kControlBytes = 20;  // BTH, AETH, ICRC; a CNP is as long within a few bytes
constexpr uint16_t kRocePort = 4791;
constexpr uint8_t kEct0 = 2, kCe = 3;
constexpr uint32_t kMaxActivePerTurn = 4096;

}  // namespace

// Travels in the packet's header bytes; the baseline is a model, not an implementation, so it has no wire format.
struct RoceNic::Header {
  enum class Kind : uint8_t { kData, kAck, kNak, kNotification };
  Kind kind = Kind::kData;
  bool last = false;
  uint32_t from = 0;  // sending NIC of the data
  uint32_t qp = 0;    // its QP
  uint32_t message = 0;
  uint64_t psn = 0;   // of the data; of an answer, what the receiver expects next
  uint64_t held = 0;  // NAK: the packet that was out of order
};

struct RoceNic::Qp {
  Qp(uint32_t n, uint32_t to, const DcqcnConfig* c, double line) : number(n), peer(to), dcqcn(c, line) {}
  struct Work {
    Message m;
    uint64_t first, end;  // PSNs
  };
  uint32_t number, peer;
  uint16_t plane = 0, source_port = 0;
  uint64_t una = 0, next = 0, posted = 0, highest = 0;
  std::deque<Work> work;
  SelectiveRepeat sent;
  Dcqcn dcqcn;
  Ps free_at = 0;  // pacing
  Ps deadline = INT64_MAX;
  uint32_t timeouts = 0;
  bool failed = false;
};

RoceNic::RoceNic(uint32_t index, PacketPool* pool, const FabricPlan* plan, const RoceConfig& config, uint64_t seed,
                 const std::vector<std::unique_ptr<NicBase>>* nics)
    : NicBase(index, pool, plan), config_(config), nics_(nics), rng_(seed * 7919 + index) {
  const FabricSpec& f = plan->spec();
  window_ = config.window_packets != 0 ? config.window_packets
                                       : std::max<uint32_t>(8, static_cast<uint32_t>(2 * f.plane_bdp() / f.mtu));
  by_plane_.resize(f.planes);
  turn_.resize(f.planes);
}

RoceNic::~RoceNic() = default;

uint32_t RoceNic::packets_of(uint64_t bytes) const {
  const uint32_t mtu = plan_->spec().mtu;
  return bytes == 0 ? 1 : static_cast<uint32_t>((bytes + mtu - 1) / mtu);
}

RoceNic::Qp* RoceNic::qp_to(uint32_t peer, uint32_t slot) {
  Qp*& found = by_peer_[static_cast<uint64_t>(slot) << 32 | peer];
  if (found != nullptr) return found;
  qps_.push_back(
      std::make_unique<Qp>(static_cast<uint32_t>(qps_.size()), peer, &config_.dcqcn, plan_->spec().nic_link.rate));
  found = qps_.back().get();
  found->plane = static_cast<uint16_t>(rng_.below(plan_->spec().planes));
  found->source_port = static_cast<uint16_t>(0xC000 + rng_.below(0x4000));
  by_plane_[found->plane].push_back(found);
  return found;
}

void RoceNic::send(const Message& m) {
  Qp* q = qp_to(m.dst, m.qp);
  if (q->failed) {
    if (listener_ != nullptr) listener_->on_failed(m.id);
    return;
  }
  const uint64_t first = q->posted;
  q->posted += packets_of(m.bytes);
  q->work.push_back({m, first, q->posted});
  pump(q->plane);
}

bool RoceNic::eligible(Qp* q, Ps now, Ps* later) const {
  const bool may_send_new = q->next < q->posted && q->next - q->una < window_;
  if (q->failed || (!may_send_new && !q->sent.lost())) return false;
  if (q->free_at > now) {
    *later = std::min(*later, q->free_at);
    return false;
  }
  return true;
}

// One packet of each QP in turn, while the port has room.
void RoceNic::pump(uint16_t plane) {
  std::vector<Qp*>& qps = by_plane_[plane];
  if (qps.empty() || !ports_[plane]->up()) return;
  const Ps now = now_ps();
  Ps later = INT64_MAX;
  size_t misses = 0;
  for (uint32_t steps = 0; has_room(plane) && misses < qps.size() && steps < kMaxActivePerTurn; ++steps) {
    size_t& turn = turn_[plane];
    if (turn >= qps.size()) turn = 0;
    Qp* q = qps[turn++];
    if (eligible(q, now, &later)) {
      transmit(q);
      misses = 0;
    } else {
      ++misses;
    }
  }
  if (later != INT64_MAX) arm_timer(later);
}

void RoceNic::transmit(Qp* q) {
  const Ps now = now_ps();
  const FabricSpec& f = plan_->spec();
  const uint64_t psn = q->sent.lost().value_or(q->next);
  size_t i = 0;
  while (q->work[i].end <= psn) ++i;
  const Qp::Work& w = q->work[i];
  const uint64_t k = psn - w.first;
  Header h;
  h.from = index_;
  h.qp = q->number;
  h.message = w.m.id;
  h.psn = psn;
  h.last = psn + 1 == w.end;
  const auto payload = static_cast<uint32_t>(w.m.bytes == 0 ? 0 : std::min<uint64_t>(f.mtu, w.m.bytes - k * f.mtu));
  Packet* p = pool_->take();
  p->flow = wire::Flow();
  p->flow.src = plan_->nic_address(q->plane, index_);
  p->flow.dst = plan_->nic_address(q->plane, q->peer);
  p->flow.src_port = q->source_port;
  p->flow.dst_port = kRocePort;
  p->flow.traffic_class = kEct0;
  p->path = plan_->path(q->plane, index_, plan_->t1_of(q->source_port), q->peer);
  p->udp_bytes = payload + kDataHeaders;
  p->bytes = p->udp_bytes + f.overhead;
  p->tc = TrafficClass::kData;
  p->trimmable = false;
  p->plane = static_cast<uint8_t>(q->plane);
  p->header_bytes = sizeof(h);
  static_assert(sizeof(Header) <= sizeof(p->header));
  std::memcpy(p->header.data(), &h, sizeof(h));
  ++counters_.tx_data;
  if (psn < q->highest) ++counters_.retransmits;
  if (selective()) q->sent.on_sent(psn);
  if (psn == q->next) ++q->next;
  q->highest = std::max(q->highest, q->next);
  q->dcqcn.on_sent(now, p->bytes);
  q->free_at = now + static_cast<Ps>(p->bytes * 8.0 * kPsPerSecond / q->dcqcn.rate());
  if (q->deadline == INT64_MAX) {
    q->deadline = now + config_.timeout;
    arm_timer(q->deadline);
  }
  ports_[q->plane]->enqueue(p);
}

void RoceNic::receive(Packet* p, uint16_t plane) {
  Header h;
  std::memcpy(&h, p->header.data(), sizeof(h));
  switch (h.kind) {
    case Header::Kind::kData:
      ++plane_counters_[plane].rx_data_packets;
      plane_counters_[plane].rx_data_bytes += p->udp_bytes;
      on_data(*p, h);
      break;
    case Header::Kind::kAck:
      on_ack(qps_[h.qp].get(), h.psn);
      break;
    case Header::Kind::kNak:
      ++counters_.naks;
      on_nak(qps_[h.qp].get(), h);
      break;
    case Header::Kind::kNotification:
      ++counters_.notifications;
      qps_[h.qp]->dcqcn.on_notification(now_ps());
      break;
  }
  pool_->give(p);
  pump(plane);
}

void RoceNic::on_data(const Packet& p, const Header& h) {
  Inbound& in = inbound_[static_cast<uint64_t>(h.from) << 32 | h.qp];
  notify_congestion(p, h, &in);
  if (h.psn > in.expected) return out_of_order(p, h, &in);
  if (h.psn == in.expected) {
    in_order(p, h, &in);
    if (!h.last && in.since_ack < config_.ack_every) return;
  }
  in.since_ack = 0;
  Header answer = h;
  answer.kind = Header::Kind::kAck;
  answer.psn = in.expected;
  send_control(p, answer);
}

void RoceNic::notify_congestion(const Packet& p, const Header& h, Inbound* in) {
  if ((p.flow.traffic_class & 3) != kCe || !config_.dcqcn.enabled ||
      now_ps() - in->last_cnp < config_.dcqcn.cnp_interval)
    return;
  in->last_cnp = now_ps();
  Header answer = h;
  answer.kind = Header::Kind::kNotification;
  send_control(p, answer);
}

void RoceNic::out_of_order(const Packet& p, const Header& h, Inbound* in) {
  ++counters_.out_of_order;
  if (selective()) {
    if (in->early.insert({h.psn, {h.message, h.last}}).second) {
      ++counters_.rx_data;
      accepted_bytes_ += p.udp_bytes - kDataHeaders;
    }
  } else if (in->nak_sent) {
    return;  // one per gap
  }
  in->nak_sent = true;
  Header answer = h;
  answer.kind = Header::Kind::kNak;
  answer.psn = in->expected;
  answer.held = h.psn;
  send_control(p, answer);
}

void RoceNic::in_order(const Packet& p, const Header& h, Inbound* in) {
  ++in->expected;
  ++counters_.rx_data;
  accepted_bytes_ += p.udp_bytes - kDataHeaders;
  in->nak_sent = false;
  ++in->since_ack;
  if (h.last && listener_ != nullptr) listener_->on_received(h.message);
  while (!in->early.empty() && in->early.begin()->first == in->expected) {
    const Early next = in->early.begin()->second;
    in->early.erase(in->early.begin());
    ++in->expected;
    in->since_ack = config_.ack_every;  // the sender waits for news of the gap
    if (next.last && listener_ != nullptr) listener_->on_received(next.message);
  }
}

void RoceNic::send_control(const Packet& to, const Header& h) {
  const auto peer = plan_->nic_of(to.flow.src);
  if (!peer) return;
  Packet* p = pool_->take();
  p->flow = wire::Flow();
  p->flow.src = to.flow.dst;
  p->flow.dst = to.flow.src;
  p->flow.src_port = to.flow.src_port;
  p->flow.dst_port = kRocePort;
  p->path = plan_->path(peer->plane, index_, plan_->t1_of(to.flow.src_port), peer->nic);
  p->udp_bytes = kControlBytes;
  p->bytes = kControlBytes + plan_->spec().overhead;
  p->tc = TrafficClass::kControl;
  p->trimmable = false;
  p->plane = static_cast<uint8_t>(peer->plane);
  p->header_bytes = sizeof(h);
  std::memcpy(p->header.data(), &h, sizeof(h));
  ports_[peer->plane]->enqueue(p);
}

void RoceNic::on_ack(Qp* q, uint64_t next) {
  if (next <= q->una || next > q->highest) return;
  q->una = next;
  q->next = std::max(q->next, next);
  if (selective()) q->sent.on_ack(next);
  q->timeouts = 0;
  q->deadline = q->una < q->posted ? now_ps() + config_.timeout : INT64_MAX;
  if (q->deadline != INT64_MAX) arm_timer(q->deadline);
  while (!q->work.empty() && q->work.front().end <= q->una) {
    const uint32_t id = q->work.front().m.id;
    q->work.pop_front();
    if (listener_ != nullptr) listener_->on_sent(id);
  }
}

void RoceNic::on_nak(Qp* q, const Header& h) {
  on_ack(q, h.psn);
  if (selective()) return q->sent.on_held(h.held);
  if (h.psn >= q->una && h.psn < q->next) q->next = h.psn;
}

void RoceNic::on_room(uint16_t plane) {
  pump(plane);
}

// A QP has one path: without its port it can only wait for the link or its timeout.
void RoceNic::on_carrier(uint16_t plane, bool up) {
  if (up) pump(plane);
}

void RoceNic::each_counter(const std::function<void(const char*, uint64_t)>& f) const {
  f("tx_data", counters_.tx_data);
  f("rx_data", counters_.rx_data);
  f("retransmits", counters_.retransmits);
  f("naks", counters_.naks);
  f("timeouts", counters_.timeouts);
  f("notifications", counters_.notifications);
  f("out_of_order", counters_.out_of_order);
}

void RoceNic::arm_timer(Ps when) {
  if (when >= timer_at_) return;
  timer_at_ = std::max(when, now_ps());
  timer_event_.schedule_at(timer_at_);
}

void RoceNic::on_timer() {
  const Ps now = now_ps();
  if (now < timer_at_) return;
  timer_at_ = INT64_MAX;
  Ps next = INT64_MAX;
  for (auto& q : qps_) {
    if (q->failed) continue;
    if (q->deadline <= now) {
      ++counters_.timeouts;
      q->deadline = now + config_.timeout;
      if (selective())
        q->sent.on_timeout();
      else
        q->next = q->una;
      if (config_.retries != 0 && ++q->timeouts > config_.retries) {
        q->failed = true;
        ++qp_errors_;
        for (const Qp::Work& w : q->work)
          if (listener_ != nullptr) listener_->on_failed(w.m.id);
        q->work.clear();
        continue;
      }
    }
    next = std::min(next, q->deadline);
  }
  if (next != INT64_MAX) arm_timer(next);
  for (size_t plane = 0; plane < by_plane_.size(); ++plane) pump(static_cast<uint16_t>(plane));
}

}  // namespace mrc::sim
