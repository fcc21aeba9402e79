// EvRotation: the order in which one QP uses the active EVs of its peer. One lap visits every active EV, planes
// interleaved; each lap is drawn anew so that QPs which share a profile do not march in step [MRC-EVS-2]. SKIP lives
// here: a marked or trimmed EV is passed over at its next turn and is GOOD again after it [MRC-EVS-3].
#pragma once

#include <cstdint>
#include <vector>

#include "core/peer_paths.h"

namespace mrc::core {

class EvRotation {
 public:
  // The next EV whose plane has room, or false when no plane has.
  bool next(PeerPaths* paths, uint32_t planes_with_room, uint16_t* ev) {
    for (int lap = 0; lap < 2; ++lap) {
      if (position_ >= lap_.size() || generation_ != paths->generation()) {
        paths->draw_lap(&lap_);
        generation_ = paths->generation();
        position_ = 0;
        if (lap_.empty()) return false;
      }
      // On the second lap SKIP no longer counts: with every EV skipped, any is as good as another.
      while (position_ < lap_.size()) {
        const uint16_t candidate = lap_[position_++];
        if (!((planes_with_room >> paths->plane_of(candidate)) & 1)) continue;
        if (take_skip(candidate) && lap == 0) continue;
        *ev = candidate;
        return true;
      }
    }
    return false;
  }
  // True when the EV was not skipped already.
  bool skip(uint16_t ev) {
    if (skip_.size() <= ev / 64u) skip_.resize(ev / 64u + 1);
    const uint64_t bit = 1ull << (ev % 64);
    if (skip_[ev / 64] & bit) return false;
    skip_[ev / 64] |= bit;
    return true;
  }
  bool skipped(uint16_t ev) const { return ev / 64u < skip_.size() && ((skip_[ev / 64] >> (ev % 64)) & 1); }
  void reset() {
    lap_.clear();
    skip_.clear();
    position_ = 0;
  }

 private:
  bool take_skip(uint16_t ev) {
    if (!skipped(ev)) return false;
    skip_[ev / 64] &= ~(1ull << (ev % 64));
    return true;
  }
  std::vector<uint16_t> lap_;
  std::vector<uint64_t> skip_;
  size_t position_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace mrc::core
