#include "sim/model/port.h"

#include <algorithm>
#include <utility>

namespace mrc::sim {
namespace {

constexpr uint32_t kTrimKeeps = 20;  // BTH, METH and TSETH must survive a cut

}  // namespace

Port::Port(PacketPool* pool, Rng* rng, double rate_bps, Ps delay, const QueueConfig& queue)
    : q_(queue), nominal_rate_(rate_bps), pool_(pool), rng_(rng), queue_(queue, rng), delay_(delay) {
  set_rate(rate_bps);
}

Port::~Port() {
  while (Packet* p = queue_.take_any()) pool_->give(p);
  while (!wire_.empty()) pool_->give(wire_.pop().packet);
}

void Port::set_rate(double bps) {
  rate_ = bps;
  ps_per_byte_ = 8.0 * kPsPerSecond / bps;
}

void Port::drop(Packet* p, uint64_t* counter) {
  ++*counter;
  if (owner_ != nullptr) owner_->on_left(*p);
  pool_->give(p);
}

// The rest of a packet is addressed and marked as before; the receiver recognises it by its DSCP.
void Port::trim(Packet* p) {
  ++counters_.trimmed;
  if (owner_ != nullptr) owner_->on_left(*p);
  const uint32_t overhead = p->bytes - p->udp_bytes;
  p->bytes = std::min(p->bytes, std::max(q_.trim_bytes, overhead + kTrimKeeps));
  p->udp_bytes = p->bytes - overhead;
  p->trimmed = true;
  p->trimmable = false;
  p->tc = TrafficClass::kTrimmed;
  const uint8_t dscp = q_.last_hop ? q_.trimmed_lasthop_dscp : q_.trimmed_dscp;
  p->flow.traffic_class = static_cast<uint8_t>(dscp << 2 | (p->flow.traffic_class & 3));
}

void Port::enqueue(Packet* p) {
  if (!up_) {
    drop(p, &counters_.lost_down);
    return;
  }
  if (idle() && !(paused_ && p->tc == TrafficClass::kData)) {
    transmit(p);
    return;
  }
  if (Packet* const lost = queue_.offer(p, [this](Packet* cut) { trim(cut); })) {
    drop(lost, &counters_.queue_drops);
    return;
  }
  peak_ = std::max(peak_, data().bytes());
  counters_.max_queue = std::max(counters_.max_queue, data().bytes());
  if (!line_event_) {
    line_event_ = true;
    line_free_event_.schedule_at(std::max(free_at_, now_ps()));
  }
}

void Port::transmit(Packet* p) {
  const Ps now = now_ps();
  ++counters_.tx_packets;
  counters_.tx_bytes += p->bytes;
  if (p->tc == TrafficClass::kData) {
    ++counters_.data_packets;
    counters_.data_bytes += p->bytes;
    if (queue_.marks() && (p->flow.traffic_class & 3) != 0) {  // the header is in another cache line
      p->flow.traffic_class |= 3;
      ++counters_.marked;
    }
  }
  if (owner_ != nullptr) owner_->on_left(*p);
  free_at_ = now + serialisation(p->bytes);
  if (loss_ > 0 && rng_->chance(loss_)) {
    ++counters_.lost;
    pool_->give(p);
    return;
  }
  // A decreasing latency must not make packets overtake on the wire.
  last_arrival_ = std::max(last_arrival_, free_at_ + delay_ + extra_delay_);
  const Ps at = last_arrival_ + latency_there_;
  if (wire_.empty()) arrive_event_.schedule_at(at);
  wire_.push({at, p});
}

void Port::line_free() {
  line_event_ = false;
  const Ps now = now_ps();
  if (now < free_at_) {  // something was sent at this very instant
    if (queue_.count() > 0) {
      line_event_ = true;
      line_free_event_.schedule_at(free_at_);
    }
    return;
  }
  if (Packet* p = queue_.next(paused_)) transmit(p);
  if (queue_.count() > (paused_ ? data().count() : 0)) {
    line_event_ = true;
    line_free_event_.schedule_at(std::max(free_at_, now));
  }
  if (owner_ != nullptr) owner_->on_room(index_);
}

void Port::arrive() {
  if (wire_.empty() || wire_.front().at > now_ps()) return;  // the link was down in between
  Packet* const p = wire_.pop().packet;
  if (!wire_.empty()) arrive_event_.schedule_at(wire_.front().at);
  to_->receive(p, port_there_);
}

void Port::expect_arrival() const {
  if (!wire_.empty()) __builtin_prefetch(wire_.front().packet);
}

void Port::expect_line() const {
  if (!queue_.data().empty()) __builtin_prefetch(queue_.data().front());
}

void Port::set_up(bool up) {
  if (up_ == up) return;
  up_ = up;
  if (up) {
    if (owner_ != nullptr) owner_->on_room(index_);
    return;
  }
  while (Packet* p = queue_.take_any()) drop(p, &counters_.lost_down);
  Wire received;
  while (!wire_.empty()) {
    const Wire::Arrival a = wire_.pop();
    if (a.at - latency_there_ <= now_ps()) {
      received.push(a);
      continue;
    }
    ++counters_.lost_down;
    pool_->give(a.packet);
  }
  wire_ = std::move(received);
  paused_ = false;
}

void Port::set_paused(bool paused) {
  paused_ = paused;
  if (!paused && queue_.count() > 0 && !line_event_ && up_) {
    line_event_ = true;
    line_free_event_.schedule_at(std::max(free_at_, now_ps()));
  }
}

int64_t Port::take_peak_queue() {
  const int64_t p = std::max(peak_, data().bytes());
  peak_ = 0;
  return p;
}

}  // namespace mrc::sim
