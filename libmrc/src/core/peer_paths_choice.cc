// Choice of paths: the EVs that a QP's packets take in turn, and one EV for a control packet. [MRC-EVS-9..10]
// [MRC-EVS-14]
#include <algorithm>

#include "core/peer_paths.h"

namespace mrc::core {

uint32_t PeerPaths::draw_order(PathOrder* order, const EvChoice* choice) {
  const size_t least = choice != nullptr ? std::max<size_t>(1, choice->min_active) : 1;
  // GOOD ones; those of suspected links, too; with a choice also bad ones of usable planes; anything at all.
  enum { kGoodOnes, kSuspected, kDoubtful, kAny };
  order->clear();
  for (int relaxed = kGoodOnes; relaxed <= kAny; ++relaxed) {
    if (relaxed == kSuspected && order->evs.size() >= least) continue;
    if (relaxed == kDoubtful && (choice == nullptr || order->evs.size() >= least)) continue;
    if (relaxed == kAny && !order->empty()) break;
    order->clear();
    for (const PlaneId p : planes_.ids()) {
      if (relaxed != kAny ? !plane_usable(p) : !use_.present(p)) continue;
      const auto first = static_cast<uint16_t>(order->evs.size());
      for (const EvIndex i : health_.ids()) {
        if (health_[i].plane != p) continue;
        if (choice != nullptr && !choice->allows(i)) continue;
        const bool in_use = choice != nullptr || health_[i].active;
        const bool take = relaxed == kGoodOnes    ? in_use && good(i)
                          : relaxed == kSuspected ? in_use && health_[i].state == EvState::kGood
                                                  : health_[i].state != EvState::kDenied;
        if (take) order->evs.push_back(i);
      }
      const auto n = static_cast<uint16_t>(order->evs.size() - first);
      if (n == 0) continue;
      for (uint16_t i = n - 1; i > 0; --i) std::swap(order->evs[first + i], order->evs[first + rng_->below(i + 1u)]);
      order->runs.push_back({p, first, n, 0});
      order->planes.insert(p);
    }
  }
  return order->empty() ? 0 : draw(order->runs.size());
}

bool PeerPaths::has_good_ev(PlaneId plane) const {
  const std::optional<EvIndex> reverse = planes_[plane].reverse;
  if (reverse && good(*reverse)) return true;
  for (const EvIndex i : health_.ids())
    if (health_[i].plane == plane && good(i)) return true;
  return false;
}

// [MRC-CHOICE-Q22]
std::optional<EvIndex> PeerPaths::pick_control(PlaneSet planes_with_room) {
  const auto plane_count = static_cast<uint8_t>(planes_.size());
  bool healthy = false;
  for (int relaxed = 0; relaxed < 2; ++relaxed) {
    // Waits for a good plane that is only full for the moment: the bad ones have room just because they are not
    // used.
    if (relaxed != 0 && healthy) return std::nullopt;
    for (uint8_t k = 0; k < plane_count; ++k) {
      const PlaneId p(static_cast<uint8_t>((control_turn_ + k) % plane_count));
      if (relaxed == 0 ? !plane_usable(p) : !use_.present(p)) continue;
      if (!planes_with_room.contains(p)) {
        healthy = healthy || (relaxed == 0 && has_good_ev(p));
        continue;
      }
      const std::optional<EvIndex> ev = reverse_ev(p, relaxed != 0);
      if (!ev) continue;
      control_turn_ = static_cast<uint8_t>((p.value() + 1) % plane_count);
      return ev;
    }
  }
  return std::nullopt;
}

std::optional<EvIndex> PeerPaths::pick_answer(PlaneSet planes_with_room) {
  const PlaneId p = inbound_.plane;
  if (plane_usable(p) && planes_with_room.contains(p)) {
    follow_peer(p);
    if (const std::optional<EvIndex> ev = reverse_ev(p, false)) return ev;
  }
  return pick_control(planes_with_room);
}

std::optional<EvIndex> PeerPaths::reverse_ev(PlaneId plane, bool bad_too) {
  std::optional<EvIndex>& reverse = planes_[plane].reverse;
  if (!reverse || (!bad_too && !good(*reverse))) {
    const std::optional<EvIndex> drawn = draw_ev(plane, bad_too);
    if (!drawn) return std::nullopt;
    reverse = drawn;
  }
  return reverse;
}

void PeerPaths::follow_peer(PlaneId plane) {
  PlaneHealth& p = planes_[plane];
  if (p.heard_ev == p.followed_ev) return;
  p.followed_ev = p.heard_ev;
  for (const EvIndex ev : names_.namesakes(p.heard_ev)) {
    if (health_[ev].plane != plane || !good(ev)) continue;
    p.reverse = ev;
    return;
  }
}

std::optional<EvIndex> PeerPaths::draw_ev(PlaneId plane, bool bad_too, bool idle_only) {
  scratch_.clear();
  for (const EvIndex i : health_.ids()) {
    const EvHealth& h = health_[i];
    if (h.plane != plane || (idle_only && h.probing)) continue;
    if (good(i) || (bad_too && (!idle_only || h.state != EvState::kDenied))) scratch_.push_back(i);
  }
  if (scratch_.empty()) return std::nullopt;
  return scratch_[rng_->below(static_cast<uint32_t>(scratch_.size()))];
}

}  // namespace mrc::core
