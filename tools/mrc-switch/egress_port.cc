#include "egress_port.h"

#include <algorithm>

namespace mrc::softswitch {

void FrameFifo::push(Frame* f) {
  f->next = nullptr;
  (tail_ != nullptr ? tail_->next : head_) = f;
  tail_ = f;
  bytes_ += f->bytes;
}

Frame* FrameFifo::pop() {
  Frame* f = head_;
  if (f == nullptr) return nullptr;
  head_ = f->next;
  if (head_ == nullptr) tail_ = nullptr;
  f->next = nullptr;
  bytes_ -= f->bytes;
  return f;
}

Frame* FrameFifo::exchange_newest(Frame* f) {
  Frame* old = tail_;
  Frame* before = nullptr;
  for (Frame* q = head_; q != old; q = q->next) before = q;
  bytes_ += static_cast<int64_t>(f->bytes) - old->bytes;
  (before != nullptr ? before->next : head_) = f;
  f->next = nullptr;
  tail_ = f;
  return old;
}

EgressPort::EgressPort(FrameOwner* owner, Rng* rng, double rate_bps, const QueueConfig& queue)
    : owner_(owner), rng_(rng), q_(queue) {
  set_rate(rate_bps);
}

EgressPort::~EgressPort() {
  for (FrameFifo* q : {&control_, &trimmed_, &data_})
    while (Frame* f = q->pop()) owner_->release(f);
  if (on_line_ != nullptr) owner_->release(on_line_);
}

void EgressPort::set_rate(double bps) {
  rate_ = bps;
  ns_per_byte_ = bps > 0 ? 8e9 / bps : 0;
}

bool EgressPort::drop(Frame* f, uint64_t* counter) {
  ++*counter;
  owner_->release(f);
  return false;
}

// False: dropped. A trimmed packet has changed its class and its size.
bool EgressPort::admit(Frame* f) {
  if (f->tc == TrafficClass::kData) {
    if (data_.bytes() + f->bytes <= q_.data_limit) return true;
    if (q_.trimming && f->trimmable) {
      ++counters_.trimmed;
      trim(f, q_.trim_bytes, q_.last_hop ? q_.dscp.trimmed_last_hop : q_.dscp.trimmed);
    } else {
      return data_.bytes() + f->bytes <= (q_.trimming ? q_.drop_limit : q_.data_limit) ||
             drop(f, &counters_.data_drops);
    }
  }
  if (f->tc == TrafficClass::kTrimmed)
    return trimmed_.bytes() + f->bytes <= q_.trimmed_limit || drop(f, &counters_.trimmed_drops);
  return control_.bytes() + f->bytes <= q_.control_limit || drop(f, &counters_.control_drops);
}

void EgressPort::enqueue(Frame* f, Instant now) {
  if (!up_) {
    drop(f, &counters_.lost_down);
    return;
  }
  if (on_line_ == nullptr) {
    transmit(f, now);
    return;
  }
  // Without the toss the bursts of one sender are cut as a whole.
  if (q_.trim_random && q_.trimming && f->trimmable && !data_.empty() && data_.bytes() + f->bytes > q_.data_limit &&
      rng_->chance(0.5))
    f = data_.exchange_newest(f);
  if (!admit(f)) return;
  (f->tc == TrafficClass::kData ? data_ : f->tc == TrafficClass::kTrimmed ? trimmed_ : control_).push(f);
  counters_.max_queue = std::max(counters_.max_queue, data_.bytes());
}

Frame* EgressPort::next_frame() {
  if (Frame* f = control_.pop()) return f;
  if (!trimmed_.empty() && (data_.empty() || q_.trimmed_share >= 1 || trimmed_credit_ >= 0)) {
    Frame* f = trimmed_.pop();
    if (!data_.empty()) trimmed_credit_ -= f->bytes;
    return f;
  }
  Frame* f = data_.pop();
  if (f != nullptr && q_.trimmed_share < 1) {
    trimmed_credit_ += f->bytes * q_.trimmed_share / (1 - q_.trimmed_share);
    if (trimmed_.empty()) trimmed_credit_ = std::min(trimmed_credit_, 0.0);  // what nobody waits for is not saved up
  }
  return f;
}

void EgressPort::transmit(Frame* f, Instant now) {
  ++counters_.tx_packets;
  counters_.tx_bytes += f->bytes;
  if (f->tc == TrafficClass::kData) {
    ++counters_.data_packets;
    counters_.data_bytes += f->bytes;
    const int64_t left = data_.bytes();
    if (left > q_.ecn_min) {
      const double share =
          static_cast<double>(left - q_.ecn_min) / static_cast<double>(std::max<int64_t>(1, q_.ecn_max - q_.ecn_min));
      if ((share >= 1 || rng_->unit() < share) && mark_ce(f)) ++counters_.marked;
    }
  }
  on_line_ = f;
  free_at_ = now + Duration::nanoseconds(static_cast<int64_t>(f->bytes * ns_per_byte_ + 0.5));
}

Frame* EgressPort::finish() {
  Frame* done = on_line_;
  on_line_ = nullptr;
  if (Frame* next = next_frame()) transmit(next, free_at_);
  return done;
}

void EgressPort::set_up(bool up) {
  if (up_ == up) return;
  up_ = up;
  if (up) return;
  for (FrameFifo* q : {&control_, &trimmed_, &data_})
    while (Frame* f = q->pop()) drop(f, &counters_.lost_down);
  if (on_line_ != nullptr) drop(on_line_, &counters_.lost_down);
  on_line_ = nullptr;
}

}  // namespace mrc::softswitch
