// EvRotation: chooses the path of each burst of one QP: first the plane, then its next EV. SKIP is kept here: a marked
// or trimmed EV is skipped at its next turn [MRC-EVS-3], and at more of them while it is marked again and again
// (SkipMemory).
//
// The plane is the one with the smallest load among those with room. Its load is the QP's packets in flight on it times
// the plane's round trip, so a plane with longer queues has fewer packets in flight. A plane with more than 1.5 times
// the mean load of the others waits: a NIC that sends as fast as it can has a single port with room most of the time,
// which is that of the slow plane as soon as the window is the limit, and then the queue of that plane would absorb the
// window and reduce the rate of all. [MRC-EVS-11]
//
// When nothing is in flight any more the next plane is drawn. Planes in turn would keep step with the traffic: the
// oldest packet, sent again after timeouts with the same number of bursts behind it, would meet only some of the
// planes, and of messages that follow each other one plane would have the long bursts and another the short ones.
// A plane with k times the round trip of the fastest one is kept every k-th time: a QP whose window is one burst would
// otherwise move as fast as the slowest plane does, and stay so, since the rate that it measures makes its window.
//
// Nor does load count while the peer is silent: all that is in flight then stays so, and the oldest packet and the
// probes would meet one or two planes for ever. The plane is drawn each time.
//
// The EVs of a plane are used in a fixed order, shuffled once for each QP [MRC-EVS-2]. A skipped EV costs its
// plane the turn, and so does one that waits for the verdict on its first packet [MRC-EVS-12]. One choice passes at
// most one EV of each plane: where the second is to be skipped too, it is the plane that has queues, not the path, and
// to pass on would only wear out the marks.
//
// The pauses of EVs that are marked again and again load the others of the plane. They are left out where the QP would
// skip more than a quarter of the plane's EVs in a lap: then the plane is full, and no path is better than another
// [MRC-EVS-19].
//
// Measured by mrc-sim, before pauses were added: goodput of all on a fully loaded one-to-one fabric, as a share of the
// NICs' rate; and with one T1 of 32 down, of the bandwidth of the links that are left, relative to that before (limits:
// 0.958 and 1):
//
//     one lap over all planes, shuffled each time, EVs of planes without room passed over   0.883   0.968 of 0.894
//     fixed order per plane, planes in turn                                                 0.947   0.881
//     the same, shuffled again after each lap                                               0.913   0.910
//     fixed order, plane with the fewest packets in flight                                  0.946   0.947
//     in flight times round trip                                                            0.946   0.942
//     the same, planes above 1.6 times the mean wait                                        0.947   0.985
//     the same with 1.5, and a skipped EV costs the turn                                    0.946   0.987
//     the same, one EV passed per choice and plane: this one                                0.947   0.987
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/planes.h"
#include "core/path_order.h"
#include "core/peer_paths.h"
#include "core/skip_memory.h"
#include "core/trace.h"
#include "invariant.h"

namespace mrc::core {

class EvRotation {
 public:
  // Packets that a QP may have in flight on a plane regardless of its load: those of a short message never wait.
  static constexpr uint32_t kAlwaysInFlight = 8;
  // Of a slow plane that is drawn while nothing is in flight: what is known of it may be old.
  static constexpr int64_t kMaxPasses = 4096;
  static constexpr uint32_t kMaxSkippedShare = 4;  // for their pauses at most one EV in so many is skipped

  // The next EV; none when no plane has room, or only planes with too high a load. `choice`: of the QP's profile; null:
  // it has none. `silent`: the peer is.
  std::optional<EvIndex> next(PeerPaths* paths, PlaneSet planes_with_room, const EvChoice* choice = nullptr,
                              bool silent = false) {
    passed_skipped_ = 0;
    all_skipped_ = false;
    follow(paths, choice);
    if ((idle_ || silent) && !order_.empty()) turn_ = draw_turn(paths, silent);
    idle_ = false;
    full_ = static_cast<uint32_t>((order_.planes - planes_with_room).count());
    PlaneSet left = planes_with_room;
    while (PathOrder::Run* run = choose_plane(*paths, left, !silent)) {
      const EvIndex ev = order_.take(run);
      if (!skips_.take(ev, may_pause(*run)) && !paths->take_wait(ev)) return chosen(run, ev);
      ++passed_skipped_;
      ++run->skipped;
      left.erase(run->plane);
    }
    // No plane is left: the second EV of the best one is used even if it is to be skipped.
    PathOrder::Run* const run = choose_plane(*paths, planes_with_room, !silent);
    if (run == nullptr) return std::nullopt;
    const EvIndex ev = order_.take(run);
    all_skipped_ = skips_.take(ev, true);
    return chosen(run, ev);
  }

  // --- load ---
  void on_sent(PlaneId plane) {
    ++in_flight_[plane];
    ++in_flight_packets_;
  }
  // So many packets sent on that plane have arrived or are lost.
  void on_left(PlaneId plane, uint32_t packets = 1) {
    MRC_INVARIANT(in_flight_.has(plane) && in_flight_[plane] >= packets);
    in_flight_[plane] -= packets;
    in_flight_packets_ -= packets;
    idle_ = in_flight_packets_ == 0;
  }
  uint64_t in_flight() const { return in_flight_packets_; }
  void on_all_left() {
    in_flight_.assign(in_flight_.size(), 0);
    in_flight_packets_ = 0;
    idle_ = true;
  }

  // --- SKIP, see SkipMemory ---
  bool skip(EvIndex ev, std::optional<uint64_t> seq, uint64_t next) { return skips_.on_marked(ev, seq, next); }
  void on_delivered(EvIndex ev, uint64_t seq, uint64_t next) { skips_.on_delivered(ev, seq, next); }
  bool skipped(EvIndex ev) const { return skips_.skipped(ev); }

  // The reason of the last choice; the number of EVs skipped before it, and of planes without room.
  TraceTrigger why() const {
    if (all_skipped_) return TraceTrigger::kAllSkipped;
    if (passed_skipped_ != 0) return TraceTrigger::kSkipped;
    return full_ != 0 ? TraceTrigger::kFull : TraceTrigger::kTurn;
  }
  uint32_t passed_skipped() const { return passed_skipped_; }
  uint32_t passed_full() const { return full_; }
  void reset() {
    order_.clear();
    skips_.clear();
    on_all_left();
    generation_ = 0;
  }
  void check() const {
    skips_.check();
    for (const PathOrder::Run& run : order_.runs) MRC_INVARIANT(run.next < run.count && in_flight_.has(run.plane));
    uint64_t sum = 0;
    for (const uint32_t packets : in_flight_) sum += packets;
    MRC_INVARIANT(sum == in_flight_packets_);
  }

 private:
  // Draws the order anew if the usable EVs have changed.
  void follow(PeerPaths* paths, const EvChoice* choice) {
    const uint32_t choice_generation = choice != nullptr ? choice->generation : 0;
    if (generation_ == paths->generation() && choice_generation_ == choice_generation) return;
    if (in_flight_.size() < paths->plane_count()) in_flight_.resize(paths->plane_count());
    turn_ = paths->draw_order(&order_, choice);
    generation_ = paths->generation();
    choice_generation_ = choice_generation;
  }
  // Index of the run that begins the next turn.
  uint32_t draw_turn(PeerPaths* paths, bool silent) const {
    const uint32_t drawn = paths->draw(order_.runs.size());
    if (silent) return drawn;
    uint32_t fastest = drawn;
    for (uint32_t i = 0; i < order_.runs.size(); ++i)
      if (paths->plane_rtt(order_.runs[i].plane) < paths->plane_rtt(order_.runs[fastest].plane)) fastest = i;
    const int64_t min_rtt = std::max<int64_t>(paths->plane_rtt(order_.runs[fastest].plane).ns(), 1);
    const int64_t times = std::min(paths->plane_rtt(order_.runs[drawn].plane).ns() / min_rtt, kMaxPasses);
    return times < 2 || paths->draw(static_cast<size_t>(times)) == 0 ? drawn : fastest;
  }
  uint64_t load_of(const PeerPaths& paths, PlaneId plane) const {
    return uint64_t{in_flight_[plane]} * static_cast<uint64_t>(paths.plane_rtt(plane).ns());
  }
  // Of those in `allowed`, the plane with the smallest load; of equal ones, or where load does not count, the first
  // from turn_ on.
  PathOrder::Run* choose_plane(const PeerPaths& paths, PlaneSet allowed, bool by_load) {
    if (!order_.planes.intersects(allowed)) return nullptr;
    const auto count = static_cast<uint32_t>(order_.runs.size());
    PathOrder::Run* best = nullptr;
    uint64_t min_load = 0, sum = 0, in_use = 0;
    for (uint32_t k = 0, i = turn_; k < count; ++k, i = i + 1 < count ? i + 1 : 0) {
      PathOrder::Run& run = order_.runs[i];
      const uint64_t load = by_load ? load_of(paths, run.plane) : 0;
      sum += load;
      in_use += load != 0;  // a plane without packets in flight may be one whose port is stuck: it holds up no other
      if (!allowed.contains(run.plane) || (best != nullptr && load >= min_load)) continue;
      best = &run;
      min_load = load;
    }
    const bool over = min_load * 2 * (in_use - 1) > (sum - min_load) * 3;
    return in_use > 1 && min_load != 0 && over && in_flight_[best->plane] > kAlwaysInFlight ? nullptr : best;
  }
  static bool may_pause(const PathOrder::Run& run) { return (run.skipped + 1u) * kMaxSkippedShare <= run.count; }
  EvIndex chosen(const PathOrder::Run* run, EvIndex ev) {
    skips_.on_used(ev);
    turn_ = static_cast<uint32_t>(run - order_.runs.data() + 1) % static_cast<uint32_t>(order_.runs.size());
    return ev;
  }

  PathOrder order_;
  SkipMemory skips_;
  PerPlane<uint32_t> in_flight_;    // packets of this QP
  uint64_t in_flight_packets_ = 0;  // on all planes
  uint32_t turn_ = 0;               // index of a run: equal loads are served from here on
  uint32_t generation_ = 0;         // of the PeerPaths and the EvChoice that order_ was drawn from
  uint32_t choice_generation_ = 0;
  uint32_t passed_skipped_ = 0, full_ = 0;
  bool all_skipped_ = false;
  bool idle_ = false;  // nothing is in flight any more
};

}  // namespace mrc::core
