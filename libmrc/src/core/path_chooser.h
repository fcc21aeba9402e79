// PathChooser: the EVs that a QP's packets take in turn, and one EV for a control packet or an answer. It reads what is
// known of the paths; what it has itself is the EV that carries the control packets of each plane. Sans-IO; no
// allocation after construction. [MRC-EVS-9..10] [MRC-EVS-14]
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/planes.h"
#include "base/rng.h"
#include "core/ev_choice.h"
#include "core/ev_health_table.h"
#include "core/ev_names.h"
#include "core/path_order.h"
#include "core/plane_use.h"

namespace mrc::core {

class PathChooser {
 public:
  PathChooser(const EvHealthTable& health, const PlaneUse& use, const EvNames& names, Rng* rng)
      : health_(health), use_(use), names_(names), rng_(rng), planes_(health.plane_count()) {}

  // The EVs for a QP: the active GOOD ones by plane, each plane's shuffled. Falls back to every EV that is not DENIED
  // when nothing is GOOD: sending on a doubtful path is better than not sending. With a choice: of those it allows,
  // active or not; those of lossy planes, and then bad ones, too when these are fewer than its minimum [MRC-EVS-10].
  // Returns the index of a run, drawn.
  uint32_t draw_order(PathOrder* order, const EvChoice* choice = nullptr) const;
  // A number below `count`.
  uint32_t draw(size_t count) const { return rng_->below(static_cast<uint32_t>(count)); }
  // Any EV of those planes, of those that are allowed: `bool allowed(EvIndex)`.
  template <typename Allowed>
  std::optional<EvIndex> draw_ev(PlaneSet planes, const Allowed& allowed) const {
    const auto fits = [&](EvIndex ev) { return planes.contains(health_.plane_of(ev)) && allowed(ev); };
    uint32_t left = 0;
    for (const EvIndex ev : health_.evs()) left += fits(ev);
    if (left == 0) return std::nullopt;
    left = rng_->below(left);
    for (const EvIndex ev : health_.evs())
      if (fits(ev) && left-- == 0) return ev;
    return std::nullopt;
  }
  std::optional<EvIndex> draw_good(PlaneId plane) const {
    return draw_ev(PlaneSet{plane}, [&](EvIndex ev) { return health_.good(ev); });
  }
  // Any EV of the plane but DENIED ones, a good one if there is one.
  std::optional<EvIndex> draw_any(PlaneId plane) const {
    const std::optional<EvIndex> good = draw_good(plane);
    if (good) return good;
    return draw_ev(PlaneSet{plane}, [&](EvIndex ev) { return health_.state(ev) != EvState::kDenied; });
  }

  // An EV for a control packet: planes in turn, except known-bad ones [MRC-EVS-9]. None when the good ones
  // have no room; lossy planes are taken only when no other has a good one, bad ones only when there is no good one at
  // all, and DENIED ones never.
  std::optional<EvIndex> pick_control(PlaneSet planes_with_room);
  // The same for a burst of datagrams: of the plane that has carried the fewest bytes of them, and in turn where they
  // are equal. Turns alone would keep step with a sender whose bursts alternate in length [MRC-UD-3].
  std::optional<EvIndex> pick_datagram(PlaneSet planes_with_room);
  void on_datagrams_sent(EvIndex ev, uint32_t bytes) { planes_[health_.plane_of(ev)].datagrams_ahead = bytes; }
  // An EV for the answer to requests: of the plane of the last one, and the same path if both ends name paths alike.
  // The peer's packets prove which paths work, and the peer leaves failed ones first [MRC-EVS-9]. Else as above.
  std::optional<EvIndex> pick_answer(PlaneSet planes_with_room);
  // The EV that carries the control packets of a plane, if one was needed: the last that is known to work, or drawn.
  std::optional<EvIndex> reverse(PlaneId plane) const { return planes_[plane].reverse; }

  // A request arrived, on this path of the peer.
  void on_inbound(PlaneId plane, uint32_t ev) {
    inbound_plane_ = plane;
    planes_[plane].requested_ev = ev;
  }
  // Something was delivered on it [MRC-EVS-9].
  void on_delivered(EvIndex ev) {
    if (health_.state(ev) == EvState::kGood) planes_[health_.plane_of(ev)].reverse = ev;
  }
  void check() const;

 private:
  struct Plane {
    std::optional<EvIndex> reverse;
    uint32_t requested_ev = 0;  // the peer's EV of the last request, by its value
    uint32_t followed_ev = 0;   // the one that `reverse` was chosen by
    // Bytes of datagrams, more than on the plane that has carried the fewest: of that one, which is taken next, 0.
    uint32_t datagrams_ahead = 0;
  };

  bool has_good_ev(PlaneId plane) const;
  std::optional<EvIndex> reverse_ev(PlaneId plane, bool bad_too);
  void follow_peer(PlaneId plane);

  const EvHealthTable& health_;
  const PlaneUse& use_;
  const EvNames& names_;
  Rng* rng_;
  PerPlane<Plane> planes_;
  PlaneId inbound_plane_;  // of the last request
  uint8_t control_turn_ = 0;
};

}  // namespace mrc::core
