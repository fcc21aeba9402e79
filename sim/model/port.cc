#include "sim/model/port.h"

#include <algorithm>

namespace mrc::sim {
namespace {

constexpr uint32_t kTrimKeeps = 20;  // BTH, METH and TSETH must survive a cut

}  // namespace

Port::Port(PacketPool* pool, Rng* rng, double rate_bps, Ps delay, const QueueConfig& queue)
    : pool_(pool), rng_(rng), q_(queue), nominal_rate_(rate_bps), delay_(delay) {
  set_rate(rate_bps);
}

Port::~Port() {
  for (PacketFifo* f : {&control_, &trimmed_, &data_, &wire_})
    while (Packet* p = f->pop()) pool_->give(p);
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

// What stays of a packet is addressed and marked as before; the receiver sees that it was cut from its DSCP.
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

// False: dropped. A trimmed packet has changed its class and its size.
bool Port::admit(Packet* p) {
  if (p->tc == TrafficClass::kData) {
    if (data_.bytes() + p->bytes <= q_.data_limit) return true;
    if (q_.trimming && p->trimmable) {
      trim(p);
    } else if (data_.bytes() + p->bytes > (q_.trimming ? q_.drop_limit : q_.data_limit)) {
      drop(p, &counters_.queue_drops);
      return false;
    } else {
      return true;
    }
  }
  const bool trimmed = p->tc == TrafficClass::kTrimmed;
  if ((trimmed ? trimmed_ : control_).bytes() + p->bytes <= (trimmed ? q_.trimmed_limit : q_.control_limit))
    return true;
  drop(p, &counters_.queue_drops);
  return false;
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
  // The newest queued packet and the arriving one toss for who is cut: otherwise bursts of one sender are cut as a
  // whole.
  if (q_.trim_random && q_.trimming && p->tc == TrafficClass::kData && p->trimmable && !data_.empty() &&
      data_.bytes() + p->bytes > q_.data_limit && (rng_->next() >> 63) != 0)
    p = data_.exchange_newest(p);
  if (!admit(p)) return;
  PacketFifo& f = p->tc == TrafficClass::kData ? data_ : p->tc == TrafficClass::kTrimmed ? trimmed_ : control_;
  f.push(p);
  ++waiting_;
  if (data_.bytes() > peak_) peak_ = data_.bytes();
  counters_.max_queue = std::max(counters_.max_queue, data_.bytes());
  if (!line_event_) {
    line_event_ = true;
    line_free_event_.schedule_at(std::max(free_at_, now_ps()));
  }
}

// Control first. Trimmed packets have their share of the link while data waits, all of it otherwise.
Packet* Port::next_packet() {
  Packet* p = control_.pop();
  if (p == nullptr) {
    const bool data_may = !data_.empty() && !paused_;
    if (!trimmed_.empty() && (!data_may || q_.trimmed_share >= 1 || trimmed_credit_ >= 0)) {
      p = trimmed_.pop();
      if (data_may) trimmed_credit_ -= p->bytes;
    } else if (data_may) {
      p = data_.pop();
      if (q_.trimmed_share < 1)
        trimmed_credit_ = std::min(trimmed_credit_ + p->bytes * q_.trimmed_share / (1 - q_.trimmed_share), 0.0);
    }
  }
  if (p != nullptr) --waiting_;
  return p;
}

void Port::transmit(Packet* p) {
  const Ps now = now_ps();
  ++counters_.tx_packets;
  counters_.tx_bytes += p->bytes;
  if (p->tc == TrafficClass::kData) {
    ++counters_.data_packets;
    counters_.data_bytes += p->bytes;
    const int64_t left = data_.bytes();
    if (left > q_.ecn_min && (p->flow.traffic_class & 3) != 0) {
      const double share =
          static_cast<double>(left - q_.ecn_min) / static_cast<double>(std::max<int64_t>(1, q_.ecn_max - q_.ecn_min));
      if (share >= 1 || rng_->unit() < share) {
        p->flow.traffic_class |= 3;
        ++counters_.marked;
      }
    }
  }
  if (owner_ != nullptr) owner_->on_left(*p);
  free_at_ = now + serialisation(p->bytes);
  if (loss_ > 0 && rng_->chance(loss_)) {
    ++counters_.lost;
    pool_->give(p);
    return;
  }
  // A latency that shrinks must not let packets overtake on the wire.
  p->arrive_at = last_arrival_ = std::max(last_arrival_, free_at_ + delay_ + extra_delay_);
  const bool first = wire_.empty();
  wire_.push(p);
  if (first) arrive_event_.schedule_at(p->arrive_at);
}

void Port::line_free() {
  line_event_ = false;
  const Ps now = now_ps();
  if (now < free_at_) {  // something was sent at this very instant
    if (waiting_ > 0) {
      line_event_ = true;
      line_free_event_.schedule_at(free_at_);
    }
    return;
  }
  if (Packet* p = next_packet()) transmit(p);
  if (waiting_ > 0 && !(paused_ && control_.empty() && trimmed_.empty())) {
    line_event_ = true;
    line_free_event_.schedule_at(std::max(free_at_, now));
  }
  if (owner_ != nullptr) owner_->on_room(index_);
}

void Port::arrive() {
  Packet* p = wire_.front();
  if (p == nullptr || p->arrive_at > now_ps()) return;  // the link was down in between
  wire_.pop();
  if (!wire_.empty()) arrive_event_.schedule_at(wire_.front()->arrive_at);
  to_->receive(p, port_there_);
}

void Port::set_up(bool up) {
  if (up_ == up) return;
  up_ = up;
  if (up) {
    if (owner_ != nullptr) owner_->on_room(index_);
    return;
  }
  for (PacketFifo* f : {&control_, &trimmed_, &data_})
    while (Packet* p = f->pop()) drop(p, &counters_.lost_down);
  while (Packet* p = wire_.pop()) {
    ++counters_.lost_down;
    pool_->give(p);
  }
  waiting_ = 0;
  paused_ = false;
}

void Port::set_paused(bool paused) {
  paused_ = paused;
  if (!paused && waiting_ > 0 && !line_event_ && up_) {
    line_event_ = true;
    line_free_event_.schedule_at(std::max(free_at_, now_ps()));
  }
}

int64_t Port::take_peak_queue() {
  const int64_t p = std::max(peak_, data_.bytes());
  peak_ = 0;
  return p;
}

}  // namespace mrc::sim
