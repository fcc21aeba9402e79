#include "datapath/held_queue.h"

#include <algorithm>
#include <iterator>

namespace mrc::datapath {

bool HeldQueue::hold(Instant due, const core::TxBurst& burst, uint64_t after_burst) {
  const Checked checked(this);
  if (held_bytes_ + burst.bytes > kMaxHeldBytes) {
    return false;
  }
  Held held;
  held.burst.assign(burst);
  held.after_burst = after_burst;
  (after_burst != 0 ? overtaken_ : delayed_).emplace(Due(due.ns(), order_++), std::move(held));
  held_bytes_ += burst.bytes;
  return true;
}

bool HeldQueue::send_held(Instant now, const Held& held, Datapath* to) {
  held.burst.view(&whole_);
  if (!to->tx_one(now, whole_)) return false;
  held_bytes_ -= whole_.bytes;
  return true;
}

void HeldQueue::release(Instant now, Datapath* to) {
  const Checked checked(this);
  last_now_ = now;
  for (auto* queue : {&overtaken_, &delayed_}) {
    PlaneSet full;
    for (auto i = queue->begin(); i != queue->end() && i->first.first <= now.ns();) {
      bool tried = !full.contains(i->second.burst.plane());
      if (tried && send_held(now, i->second, to)) {
        i = queue->erase(i);
      } else {
        full.insert(i->second.burst.plane());
        ++i;
      }
    }
  }
}

void HeldQueue::release_overtaken(Instant now, uint64_t bursts, Datapath* to) {
  const Checked checked(this);
  for (auto i = overtaken_.begin(); i != overtaken_.end();)
    i = i->second.after_burst <= bursts && send_held(now, i->second, to) ? overtaken_.erase(i) : std::next(i);
}

Instant HeldQueue::next_timeout() const {
  Instant next = Instant::never();
  // Bursts already due wait for room, which the descriptors signal.
  for (const auto* queue : {&overtaken_, &delayed_}) {
    auto i = queue->upper_bound(Due(last_now_.ns(), UINT64_MAX));
    if (i != queue->end()) next = std::min(next, Instant::from_ns(i->first.first));
  }
  return next;
}

void HeldQueue::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(held_bytes_ <= kMaxHeldBytes);
  if (!pace_.due(delayed_.size() + overtaken_.size())) return;
  uint64_t bytes = 0;
  for (const auto* queue : {&overtaken_, &delayed_})
    for (const auto& [due, held] : *queue) {
      MRC_INVARIANT((held.after_burst != 0) == (queue == &overtaken_));
      MRC_INVARIANT(due.second < order_);
      bytes += held.burst.bytes();
    }
  MRC_INVARIANT(bytes == held_bytes_);
}

}  // namespace mrc::datapath
