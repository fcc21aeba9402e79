#include "core/path_chooser.h"

#include <algorithm>
#include <utility>

#include "invariant.h"

namespace mrc::core {

uint32_t PathChooser::draw_order(PathOrder* order, const EvChoice* choice) const {
  const size_t min_active = choice != nullptr ? std::max<size_t>(1, choice->min_active) : 1;
  // GOOD ones; those of suspected links, too; those of lossy planes, too; with a choice also ASSUMED_BAD ones; anything
  // at all.
  enum { kGood, kSuspected, kLossy, kAssumedBad, kAny };
  order->clear();
  for (int relaxed = kGood; relaxed <= kAny; ++relaxed) {
    if (relaxed != kGood && relaxed != kAny && order->evs.size() >= min_active) continue;
    if (relaxed == kAssumedBad && choice == nullptr) continue;
    if (relaxed == kAny && !order->empty()) break;
    order->clear();
    for (const PlaneId p : planes_.ids()) {
      if (relaxed == kAny ? !use_.present(p) : !(relaxed < kLossy ? use_.usable() : use_.with_lossy()).contains(p))
        continue;
      const auto first = static_cast<uint16_t>(order->evs.size());
      for (const EvIndex i : health_.evs()) {
        if (health_.plane_of(i) != p) continue;
        if (choice != nullptr && !choice->allows(i)) continue;
        const bool in_use = choice != nullptr || health_.active(i);
        const bool take = relaxed == kGood    ? in_use && health_.good(i)
                          : relaxed <= kLossy ? in_use && health_.state(i) == EvState::kGood
                                              : health_.state(i) != EvState::kDenied;
        if (take) order->evs.push_back(i);
      }
      const auto n = static_cast<uint16_t>(order->evs.size() - first);
      if (n == 0) continue;
      for (uint16_t i = n - 1; i > 0; --i) std::swap(order->evs[first + i], order->evs[first + draw(i + 1u)]);
      order->runs.push_back({p, first, n, 0, 0});
      order->planes.insert(p);
    }
  }
  return order->empty() ? 0 : draw(order->runs.size());
}

bool PathChooser::has_good_ev(PlaneId plane) const {
  const std::optional<EvIndex> reverse = planes_[plane].reverse;
  if (reverse && health_.good(*reverse)) return true;
  for (const EvIndex i : health_.evs())
    if (health_.plane_of(i) == plane && health_.good(i)) return true;
  return false;
}

// [MRC-CHOICE-Q22]
std::optional<EvIndex> PathChooser::pick_control(PlaneSet planes_with_room) {
  const auto plane_count = static_cast<uint8_t>(planes_.size());
  bool healthy = false;
  enum { kGood, kLossy, kAny };
  for (int relaxed = kGood; relaxed <= kAny; ++relaxed) {
    // Waits for a good plane that is only full for the moment: the bad ones have room just because they are not
    // used.
    if (healthy) return std::nullopt;
    for (uint8_t k = 0; k < plane_count; ++k) {
      const PlaneId p(static_cast<uint8_t>((control_turn_ + k) % plane_count));
      if (relaxed == kAny ? !use_.present(p) : !(relaxed == kGood ? use_.usable() : use_.with_lossy()).contains(p))
        continue;
      if (!planes_with_room.contains(p)) {
        healthy = healthy || (relaxed != kAny && has_good_ev(p));
        continue;
      }
      const std::optional<EvIndex> ev = reverse_ev(p, relaxed == kAny);
      if (!ev) continue;
      control_turn_ = static_cast<uint8_t>((p.value() + 1) % plane_count);
      return ev;
    }
  }
  return std::nullopt;
}

std::optional<EvIndex> PathChooser::pick_datagram(PlaneSet planes_with_room) {
  PlaneSet least;
  uint32_t ahead = UINT32_MAX;
  for (const PlaneId p : use_.usable() & planes_with_room) {
    if (planes_[p].datagrams_ahead > ahead || !has_good_ev(p)) continue;
    if (planes_[p].datagrams_ahead < ahead) least.clear();
    ahead = planes_[p].datagrams_ahead;
    least.insert(p);
  }
  if (least.empty()) return pick_control(planes_with_room);
  // A plane that is full or out now does not have to make up for it later.
  for (Plane& plane : planes_) plane.datagrams_ahead -= std::min(plane.datagrams_ahead, ahead);
  return pick_control(least);
}

std::optional<EvIndex> PathChooser::pick_answer(PlaneSet planes_with_room) {
  const PlaneId p = inbound_plane_;
  if (use_.usable(p) && planes_with_room.contains(p)) {
    follow_peer(p);
    if (const std::optional<EvIndex> ev = reverse_ev(p, false)) return ev;
  }
  return pick_control(planes_with_room);
}

std::optional<EvIndex> PathChooser::reverse_ev(PlaneId plane, bool bad_too) {
  const auto allowed = [&](EvIndex ev) { return bad_too ? health_.state(ev) != EvState::kDenied : health_.good(ev); };
  std::optional<EvIndex>& reverse = planes_[plane].reverse;
  if (!reverse || !allowed(*reverse)) {
    const std::optional<EvIndex> drawn = draw_ev(PlaneSet{plane}, allowed);
    if (!drawn) return std::nullopt;
    reverse = drawn;
  }
  return reverse;
}

void PathChooser::follow_peer(PlaneId plane) {
  Plane& p = planes_[plane];
  if (p.requested_ev == p.followed_ev) return;
  p.followed_ev = p.requested_ev;
  for (const EvIndex ev : names_.indices_of(p.requested_ev)) {
    if (health_.plane_of(ev) != plane || !health_.good(ev)) continue;
    p.reverse = ev;
    return;
  }
}

void PathChooser::check() const {
  for (const PlaneId i : planes_.ids())
    MRC_INVARIANT(!planes_[i].reverse || health_.plane_of(*planes_[i].reverse) == i);
  MRC_INVARIANT(control_turn_ == 0 || control_turn_ < planes_.size());
}

}  // namespace mrc::core
