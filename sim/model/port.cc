#include "sim/model/port.h"

#include <algorithm>

#include "invariant.h"

namespace mrc::sim {
namespace {

constexpr uint32_t kTrimKeeps = 20;  // BTH, METH and TSETH must survive a cut

}  // namespace

Port::Port(PacketPool* pool, Rng* rng, double rate_bps, Ps delay, const QueueConfig& queue)
    : q_(queue), pool_(pool), rng_(rng), queue_(queue, rng), line_(rate_bps, delay) {}

Port::~Port() {
  while (Packet* p = queue_.take_any()) pool_->give(p);
  while (Packet* p = on_wire_.take_any()) pool_->give(p);
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
  const Checked checked(this);
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
  if (!line_event_) schedule_line();
}

void Port::schedule_line() {
  line_event_ = true;
  line_free_event_.schedule_at(std::max(line_.free_at(), now_ps()));
}

void Port::transmit(Packet* p) {
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
  line_.send(now_ps(), p->bytes);
  if (loss_ > 0 && rng_->chance(loss_)) {
    ++counters_.lost;
    pool_->give(p);
    return;
  }
  on_wire_.add(p, line_.arrival());
}

void Port::line_free() {
  const Checked checked(this);
  line_event_ = false;
  if (now_ps() < line_.free_at()) {  // something was sent at this very instant
    if (queue_.count() > 0) schedule_line();
    return;
  }
  if (Packet* p = queue_.next(paused_)) transmit(p);
  if (queue_.count() > (paused_ ? data().count() : 0)) schedule_line();
  if (owner_ != nullptr) owner_->on_room(index_);
}

void Port::expect_line() const {
  if (!queue_.data().empty()) __builtin_prefetch(queue_.data().front());
}

void Port::set_up(bool up) {
  const Checked checked(this);
  if (up_ == up) return;
  up_ = up;
  if (up) {
    if (owner_ != nullptr) owner_->on_room(index_);
    return;
  }
  while (Packet* p = queue_.take_any()) drop(p, &counters_.lost_down);
  on_wire_.cut([this](Packet* p) {
    ++counters_.lost_down;
    pool_->give(p);
  });
  paused_ = false;
}

void Port::set_paused(bool paused) {
  paused_ = paused;
  if (!paused && queue_.count() > 0 && !line_event_ && up_) schedule_line();
  check();
}

// What waits and is not held back has an event.
void Port::check() const {
  MRC_INVARIANT(up_ || queue_.count() == 0);
  MRC_INVARIANT(line_event_ || queue_.count() == (paused_ ? data().count() : 0));
}

int64_t Port::take_peak_queue() {
  const int64_t p = std::max(peak_, data().bytes());
  peak_ = 0;
  return p;
}

}  // namespace mrc::sim
