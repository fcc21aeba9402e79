#include "core/tombstones.h"

#include <algorithm>

#include "invariant.h"

namespace mrc::core {

void Tombstones::put(uint32_t slot, const Tombstone& t) {
  const PeerId old = by_slot_[slot].peer;
  by_slot_[slot] = t;
  if (t.peer != kNoPeer) peers_.add_tombstone(t.peer);
  if (old != kNoPeer) peers_.release_tombstone(old);
}

Tombstone* Tombstones::find(Instant now, uint32_t slot, Qpn qpn) {
  if (slot >= by_slot_.size()) return nullptr;
  Tombstone& t = by_slot_[slot];
  if (t.peer == kNoPeer || t.last.qpn != qpn || now - t.answered < engine_.config.ack_delay) return nullptr;
  return &t;
}

void Tombstones::answer(Instant now, Tombstone* t) {
  Peer* const to = peers_.find(t->peer);
  if (to == nullptr) return;
  const std::optional<EvIndex> ev = to->paths.pick_control(PlaneSet::all());
  if (ev && send_ack(now, &engine_, &control_, *to, *ev, t->last)) t->answered = now;
}

void Tombstones::repeat(Instant now, Instant since) {
  for (Tombstone& t : by_slot_)
    if (t.peer != kNoPeer && t.last_request >= since) answer(now, &t);
}

uint32_t Tombstones::count(PeerId peer) const {
  return static_cast<uint32_t>(
      std::count_if(by_slot_.begin(), by_slot_.end(), [&](const Tombstone& t) { return t.peer == peer; }));
}

void Tombstones::check() const {
  if constexpr (!kCheckInvariants) return;
  for (const Tombstone& t : by_slot_) {
    if (t.peer == kNoPeer) continue;
    MRC_INVARIANT(peers_.find(t.peer) != nullptr);
    MRC_INVARIANT(peers_.find(t.peer)->refs.tombstones > 0);
  }
}

}  // namespace mrc::core
