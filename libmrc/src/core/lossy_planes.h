// LossyPlanes: which planes towards one peer lose so much that it is better not to use them. Sans-IO; no allocation
// after construction. [MRC-EVS-20]
//
// The packets that a plane delivers are capacity, but its losses cost the others: retransmissions, cuts of the window,
// and the wait for missing packets. Measured by mrc-sim, with planes of one rate, the cost is about a quarter of the
// lost share, so that one of n planes is to be left when it delivers less than n/(n + 4) of what the best one does.
//
// A plane that is left carries only probes, whose share is less certain, so that it has to deliver more to be used
// again. A probe and its answer cross the plane twice besides.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/planes.h"
#include "base/time.h"
#include "core/config.h"
#include "core/ev_health_table.h"

namespace mrc::core {

class LossyPlanes {
 public:
  LossyPlanes(const EndpointConfig& config, const EvHealthTable& health)
      : config_(config), health_(health), poor_(health.plane_count()) {}

  // A packet on a plane in use is lost. True: for too long the plane has delivered too little. `usable`: planes in use.
  bool on_lost(Instant now, PlaneId plane, PlaneSet usable) {
    Poor& poor = poor_[plane];
    if (!delivers_too_little(plane, usable)) {
      poor = {};
      return false;
    }
    if (poor.last == kLongAgo) {
      poor.since = now;
    } else if (now - poor.last > config_.ev_probe_interval) {
      poor.since = poor.since + (now - poor.last);  // a pause shows nothing
    }
    poor.last = now;
    if (now - poor.since < config_.host_delay * EvHealthTable::kDeadPlaneDelays) return false;
    poor = {};
    return true;
  }
  // The planes in use have changed.
  void on_usable(PlaneSet usable) {
    for (const PlaneId p : poor_.ids())
      if (!usable.contains(p)) poor_[p] = {};
  }
  // A plane that was left is worth using beside those in use.
  bool delivers_again(PlaneId plane, PlaneSet usable) const {
    constexpr uint32_t kMargin = 2;
    return !below(plane, carrying(plane, usable), kMargin, false);
  }

 private:
  // A plane in use that delivers too little: the time of its losses, less that of pauses between them.
  struct Poor {
    Instant since = kLongAgo, last = kLongAgo;
  };
  // With fewer planes in use the limit is lower, so that a plane above the limit of all needs no look at the EVs.
  bool delivers_too_little(PlaneId plane, PlaneSet usable) const {
    return below(plane, usable | PlaneSet{plane}, 0, true) && below(plane, carrying(plane, usable), 0, true);
  }
  PlaneSet carrying(PlaneId plane, PlaneSet usable) const { return health_.carrying(usable) | PlaneSet{plane}; }
  // It delivers less than (n + margin)/(n + 4) of what the best of these n planes does; `tested`: of those of which
  // enough is known.
  bool below(PlaneId plane, PlaneSet in_use, uint32_t margin, bool tested) const {
    constexpr uint32_t kCost = 4;
    const auto planes = static_cast<uint32_t>(in_use.count());
    uint64_t best = 0;
    for (const PlaneId p : health_.planes() & in_use)
      if (!tested || health_.share(p).tested()) best = std::max<uint64_t>(best, health_.share(p).value());
    return uint64_t{health_.share(plane).value()} * (planes + kCost) < best * (planes + margin);
  }

  const EndpointConfig& config_;
  const EvHealthTable& health_;
  PerPlane<Poor> poor_;
};

}  // namespace mrc::core
