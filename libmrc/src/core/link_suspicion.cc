#include "core/link_suspicion.h"

#include <algorithm>

#include "invariant.h"

namespace mrc::core {

LinkSuspicion::LinkSuspicion(const EvLinks& links) : links_(links), state_(links.count()) {
  for (size_t i = 0; i < state_.size(); ++i) {
    const LinkIndex link(static_cast<uint16_t>(i));
    const PlaneId plane = state_[i].plane = links.plane(link);
    if (!left_.has(plane)) left_.resize(plane.value() + 1u);
    ++left_[plane];
    for (const EvIndex ev : links.evs(link))
      if (!counted_.has(ev)) counted_.resize(ev.value() + 1u);
  }
}

void LinkSuspicion::on_sent(Instant now, EvIndex ev) {
  Link* const link = find(ev);
  if (link != nullptr) link->first_sent = std::min(link->first_sent, now);
}

bool LinkSuspicion::on_delivered(EvIndex ev, Instant sent_at) {
  Link* const link = find(ev);
  if (link == nullptr) return false;
  link->last_delivered_sent = std::max(link->last_delivered_sent, sent_at);
  if (link->lost_evs == 0 || sent_at < link->last_loss_sent) return false;
  return reset(link);
}

bool LinkSuspicion::on_lost(EvIndex ev, Instant sent_at, bool plane_works) {
  Link* const link = find(ev);
  if (link == nullptr || sent_at <= link->last_delivered_sent) return false;
  link->last_loss_sent = std::max(link->last_loss_sent, sent_at);
  const bool unproven = link->last_delivered_sent == kLongAgo && plane_works;
  if (counted_[ev] != link->round) {
    counted_[ev] = link->round;
    ++link->lost_evs;
  }
  return !link->suspected && (unproven || link->lost_evs >= kLostEvs);
}

bool LinkSuspicion::may_suspect(EvIndex ev) const {
  const Link* const link = find(ev);
  return link != nullptr && left_[link->plane] > 1;
}

void LinkSuspicion::suspect(EvIndex ev) {
  Link* const link = find(ev);
  MRC_INVARIANT(link != nullptr && !link->suspected && may_suspect(ev));
  link->suspected = true;
  --left_[link->plane];
}

bool LinkSuspicion::clear(EvIndex ev) {
  Link* const link = find(ev);
  if (link == nullptr) return false;
  link->first_sent = Instant::never();
  return reset(link);
}

bool LinkSuspicion::reset(Link* link) {
  const bool was_suspected = link->suspected;
  left_[link->plane] = static_cast<uint16_t>(left_[link->plane] + was_suspected);
  link->suspected = false;
  link->lost_evs = 0;
  ++link->round;
  return was_suspected;
}

void LinkSuspicion::check() const {
  if constexpr (!kCheckInvariants) return;
  for (size_t i = 0; i < state_.size(); ++i) {
    MRC_INVARIANT(!state_[i].suspected || state_[i].lost_evs != 0);
    MRC_INVARIANT(state_[i].lost_evs <= links_.evs(LinkIndex(static_cast<uint16_t>(i))).size());
  }
  for (const PlaneId plane : left_.ids()) MRC_INVARIANT(left_[plane] > 0 || links_.count_on(plane) == 0);
}

}  // namespace mrc::core
