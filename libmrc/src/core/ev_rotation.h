// EvRotation: the order in which one QP uses the active EVs of its peer. One lap visits every active EV, planes
// interleaved; each lap is drawn anew so that QPs which share a profile are not synchronised [MRC-EVS-2]. SKIP is kept
// here: a marked or trimmed EV is skipped at its next turn and is GOOD again after it [MRC-EVS-3].
#pragma once

#include <cstdint>
#include <vector>

#include "base/invariant.h"
#include "core/peer_paths.h"
#include "core/trace.h"

namespace mrc::core {

class EvRotation {
 public:
  // The next EV whose plane has room, or false when no plane has. `choice`: of its profile; null: it has none.
  bool next(PeerPaths* paths, PlaneSet planes_with_room, uint16_t* ev, const EvChoice* choice = nullptr) {
    passed_full_ = passed_skipped_ = 0;
    for (int lap = 0; lap < 2; ++lap) {
      const uint32_t choice_generation = choice != nullptr ? choice->generation : 0;
      if (position_ >= lap_.size() || generation_ != paths->generation() || choice_generation_ != choice_generation) {
        paths->draw_lap(&lap_, choice);
        generation_ = paths->generation();
        choice_generation_ = choice_generation;
        position_ = 0;
        if (lap_.empty()) return false;
      }
      // On the second lap SKIP is ignored: with every EV skipped, all are equivalent.
      while (position_ < lap_.size()) {
        const uint16_t candidate = lap_[position_++];
        if (!planes_with_room.contains(paths->plane_of(candidate))) {
          ++passed_full_;
          continue;
        }
        if (take_skip(candidate) && lap == 0) {
          ++passed_skipped_;
          continue;
        }
        second_lap_ = lap != 0;
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
  // The reason of the last choice, and the number of EVs skipped before it.
  TraceTrigger why() const {
    if (second_lap_ && passed_skipped_ != 0) return TraceTrigger::kAllSkipped;
    if (passed_skipped_ != 0) return TraceTrigger::kSkipped;
    return passed_full_ != 0 ? TraceTrigger::kFull : TraceTrigger::kTurn;
  }
  uint32_t passed_skipped() const { return passed_skipped_; }
  uint32_t passed_full() const { return passed_full_; }
  bool skipped(uint16_t ev) const { return ev / 64u < skip_.size() && ((skip_[ev / 64] >> (ev % 64)) & 1); }
  void reset() {
    lap_.clear();
    skip_.clear();
    position_ = 0;
  }
  void check() const { MRC_INVARIANT(position_ <= lap_.size()); }

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
  uint32_t choice_generation_ = 0;
  uint32_t passed_skipped_ = 0, passed_full_ = 0;
  bool second_lap_ = false;
};

}  // namespace mrc::core
