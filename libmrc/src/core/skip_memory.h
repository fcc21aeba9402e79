// SkipMemory: the EVs that one QP passes over when it is their turn, and how many of their turns [MRC-EVS-3]
// [MRC-EVS-19]. Sans-IO; memory from the first mark on until no mark and no pause is left.
//
// A mark costs the EV its next turn. On a path that is slow for long that is not enough: used in every other turn it
// carries half of its share, its queue stays where every packet is marked, and in the end all wait for that queue. So a
// mark also adds two turns to the pause that the EV makes after each use, and a delivery without a mark takes an eighth
// of a turn off: the pause is stable where one packet in 17 is marked. Measured by mrc-sim, transfers of 32 MB with 6
// of 128 links at a quarter of their rate, over those without slow links, median and maximum of 12 seeds: without
// pauses 1.26 and 1.65 (before MRC-NSCC-33), with one turn for a mark 1.05 and 1.16, with two 1.03 and 1.10.
//
// There is one such verdict per EV and round trip: packets sent before the last verdict arrived report the same queue.
// Where several packets are in flight on an EV, each of them would lengthen the pause before the first has an effect.
// But a mark counts after a delivery of the same round trip: where a host reads a burst at once, the first SACK names
// one marked packet and reports the others of the burst, marked or not, before their own SACKs name them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "invariant.h"

namespace mrc::core {

class SkipMemory {
 public:
  static constexpr int kTurn = 8;              // pauses are counted in eighths of a turn
  static constexpr int kMarked = 2 * kTurn;    // what a mark adds
  static constexpr int kMaxPause = 7 * kTurn;  // what is known of a path must not get old

  // The packet with that number, sent on the EV, was marked or trimmed; none: one of another kind, whose mark does not
  // change the pause. `next`: the next number to be sent. True when the EV was not to be skipped for a mark already.
  bool on_marked(EvIndex ev, std::optional<uint64_t> seq, uint64_t next) {
    if (paths_.size() <= ev.value()) paths_.resize(ev.value() + 1u);
    Path& p = paths_[ev.value()];
    in_use_ += p.idle();
    if (seq && !(p.judged_marked && p.judged(*seq))) p.judge(true, std::min(p.pause + kMarked, kMaxPause), next);
    return !std::exchange(p.marked, true);
  }
  // It has arrived without a mark.
  void on_delivered(EvIndex ev, uint64_t seq, uint64_t next) {
    if (ev.value() >= paths_.size()) return;
    Path& p = paths_[ev.value()];
    if (p.pause == 0 || p.judged(seq)) return;
    p.judge(false, p.pause - 1, next);
    if (p.idle()) release();
  }
  // It is to be skipped for a mark.
  bool skipped(EvIndex ev) const { return ev.value() < paths_.size() && paths_[ev.value()].marked; }
  // It is the EV's turn. True: it is skipped, for a mark, or for its pause if that is allowed.
  bool take(EvIndex ev, bool may_pause) {
    if (ev.value() >= paths_.size()) return false;
    Path& p = paths_[ev.value()];
    if (p.idle()) return false;
    const bool pauses = p.left >= kTurn;
    if (pauses) p.left = static_cast<uint8_t>(p.left - kTurn);
    const bool was_marked = std::exchange(p.marked, false);
    if (p.idle()) release();
    return was_marked || (pauses && may_pause);
  }
  // The EV is used, and makes its pause.
  void on_used(EvIndex ev) {
    if (ev.value() >= paths_.size()) return;
    Path& p = paths_[ev.value()];
    p.left = static_cast<uint8_t>(std::min(p.left + p.pause, kMaxPause));
  }
  void clear() {
    std::vector<Path>().swap(paths_);
    in_use_ = 0;
  }
  bool empty() const { return in_use_ == 0; }  // no EV is skipped or pauses
  void check() const { MRC_INVARIANT(in_use_ <= paths_.size() && empty() == paths_.empty()); }

 private:
  // What a QP has for each EV.
  struct Path {
    uint32_t judged_below = 0;   // the verdict on packets before this one is in `pause`; modulo 2^32
    uint8_t pause = 0;           // after each use
    uint8_t left = 0;            // of the current one
    bool marked = false;         // since its last turn
    bool judged_marked = false;  // by the last verdict

    bool idle() const { return pause == 0 && left < kTurn && !marked; }
    bool judged(uint64_t seq) const {
      constexpr uint32_t kOldest = 1 << 24;  // no packet that is reported was sent longer ago: PSNs have 24 bits
      return judged_below - static_cast<uint32_t>(seq) - 1 < kOldest;
    }
    void judge(bool by_mark, int new_pause, uint64_t next) {
      pause = static_cast<uint8_t>(new_pause);
      judged_below = static_cast<uint32_t>(next);
      judged_marked = by_mark;
    }
  };
  static_assert(sizeof(Path) == 8);

  // A path has become idle.
  void release() {
    if (--in_use_ == 0) clear();
  }

  std::vector<Path> paths_;  // by EvIndex
  size_t in_use_ = 0;        // of them, those that are not idle
};

}  // namespace mrc::core
