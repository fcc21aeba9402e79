#include "egress_port.h"

#include <algorithm>

#include "invariant.h"

namespace mrc::softswitch {

EgressPort::EgressPort(FrameOwner* owner, Rng* rng, double rate_bps, const QueueConfig& queue)
    : owner_(owner), q_(queue), queue_(queue, rng) {
  set_rate(rate_bps);
}

EgressPort::~EgressPort() {
  while (Frame* f = queue_.take_any()) owner_->release(f);
  if (on_line_ != nullptr) owner_->release(on_line_);
}

void EgressPort::set_rate(double bps) {
  rate_ = bps;
  ns_per_byte_ = bps > 0 ? 8e9 / bps : 0;
}

void EgressPort::drop(Frame* f, uint64_t* counter) {
  ++*counter;
  owner_->release(f);
}

void EgressPort::trim_frame(Frame* f) {
  ++counters_.trimmed;
  trim(f, q_.trim_bytes, q_.last_hop ? q_.dscp.trimmed_last_hop : q_.dscp.trimmed);
}

void EgressPort::enqueue(Frame* f, Instant now) {
  const Checked checked(this);
  if (!up_) {
    drop(f, &counters_.lost_down);
    return;
  }
  if (on_line_ == nullptr) {
    transmit(f, now);
    return;
  }
  if (Frame* const lost = queue_.offer(f, [this](Frame* cut) { trim_frame(cut); })) {
    drop(lost, lost->tc == TrafficClass::kData      ? &counters_.data_drops
               : lost->tc == TrafficClass::kTrimmed ? &counters_.trimmed_drops
                                                    : &counters_.control_drops);
    return;
  }
  counters_.max_queue = std::max(counters_.max_queue, queued_bytes());
}

void EgressPort::transmit(Frame* f, Instant now) {
  ++counters_.tx_packets;
  counters_.tx_bytes += f->bytes;
  if (f->tc == TrafficClass::kData) {
    ++counters_.data_packets;
    counters_.data_bytes += f->bytes;
    if (queue_.marks() && mark_ce(f)) ++counters_.marked;
  }
  on_line_ = f;
  free_at_ = now + Duration::nanoseconds(static_cast<int64_t>(f->bytes * ns_per_byte_ + 0.5));
}

Frame* EgressPort::finish() {
  Frame* done = on_line_;
  on_line_ = nullptr;
  if (Frame* next = queue_.next()) transmit(next, free_at_);
  check();
  return done;
}

void EgressPort::set_up(bool up) {
  if (up_ == up) return;
  up_ = up;
  if (up) return;
  while (Frame* f = queue_.take_any()) drop(f, &counters_.lost_down);
  if (on_line_ != nullptr) drop(on_line_, &counters_.lost_down);
  on_line_ = nullptr;
  check();
}

void EgressPort::check() const {
  MRC_INVARIANT(on_line_ != nullptr || queue_.count() == 0);
  MRC_INVARIANT(up_ || on_line_ == nullptr);
}

}  // namespace mrc::softswitch
