// EvRotation: the order in which one QP uses the active EVs of its peer. One lap visits every active EV, planes
// interleaved; each lap is drawn anew so that QPs which share a profile are not synchronised [MRC-EVS-2]. SKIP is kept
// here: a marked or trimmed EV is skipped at its next turn and is GOOD again after it [MRC-EVS-3].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/invariant.h"
#include "core/peer_paths.h"
#include "core/trace.h"

namespace mrc::core {

class EvRotation {
 public:
  // The next EV whose plane has room; none when no plane has. `choice`: of its profile; null: it has none.
  std::optional<EvIndex> next(PeerPaths* paths, PlaneSet planes_with_room, const EvChoice* choice = nullptr) {
    passed_full_ = passed_skipped_ = 0;
    for (int lap = 0; lap < 2; ++lap) {
      const uint32_t choice_generation = choice != nullptr ? choice->generation : 0;
      if (position_ >= lap_.size() || generation_ != paths->generation() || choice_generation_ != choice_generation) {
        paths->draw_lap(&lap_, choice);
        generation_ = paths->generation();
        choice_generation_ = choice_generation;
        position_ = 0;
        if (lap_.empty()) return std::nullopt;
      }
      // On the second lap SKIP is ignored: with every EV skipped, all are equivalent.
      while (position_ < lap_.size()) {
        const EvIndex candidate = lap_[position_++];
        if (!planes_with_room.contains(paths->plane_of(candidate))) {
          ++passed_full_;
          continue;
        }
        if (take_skip(candidate) && lap == 0) {
          ++passed_skipped_;
          continue;
        }
        second_lap_ = lap != 0;
        return candidate;
      }
    }
    return std::nullopt;
  }
  // True when the EV was not skipped already.
  bool skip(EvIndex ev) {
    if (skip_.size() <= word_of(ev)) skip_.resize(word_of(ev) + 1);
    if (skip_[word_of(ev)] & bit_of(ev)) return false;
    skip_[word_of(ev)] |= bit_of(ev);
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
  bool skipped(EvIndex ev) const { return word_of(ev) < skip_.size() && (skip_[word_of(ev)] & bit_of(ev)) != 0; }
  void reset() {
    lap_.clear();
    skip_.clear();
    position_ = 0;
  }
  void check() const { MRC_INVARIANT(position_ <= lap_.size()); }

 private:
  static size_t word_of(EvIndex ev) { return ev.value() / 64u; }
  static uint64_t bit_of(EvIndex ev) { return uint64_t{1} << (ev.value() % 64); }
  bool take_skip(EvIndex ev) {
    if (!skipped(ev)) return false;
    skip_[word_of(ev)] &= ~bit_of(ev);
    return true;
  }
  std::vector<EvIndex> lap_;
  std::vector<uint64_t> skip_;
  size_t position_ = 0;
  uint32_t generation_ = 0;
  uint32_t choice_generation_ = 0;
  uint32_t passed_skipped_ = 0, passed_full_ = 0;
  bool second_lap_ = false;
};

}  // namespace mrc::core
