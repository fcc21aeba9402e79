// ProbeSchedule: which EV towards one peer is probed when, and how long its answer may take. Sans-IO; no allocation
// after construction. Retired EVs are probed until they answer, each link once before it is used, lossy planes until
// they deliver, and while only the peer sends, the planes that carry the answers. PeerPaths concludes from answers and
// silence. [MRC-EVS-8..9] [MRC-EVS-15] [MRC-EVS-20]
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/planes.h"
#include "base/rng.h"
#include "base/time.h"
#include "core/config.h"
#include "core/ev_health_table.h"
#include "core/ev_links.h"
#include "core/first_probes.h"
#include "core/path_chooser.h"
#include "core/plane_use.h"

namespace mrc::core {

class ProbeSchedule {
 public:
  static constexpr int64_t kMaxTimeoutIntervals = 8;  // probe intervals

  ProbeSchedule(const EndpointConfig& config, const EvLinks& links, const EvHealthTable& health, const PlaneUse& use,
                const PathChooser& chooser, Rng* rng)
      : config_(config),
        links_(links),
        health_(health),
        use_(use),
        chooser_(chooser),
        rng_(rng),
        evs_(config.evs.size()),
        checks_(health.plane_count()),
        lossy_(health.plane_count(), Instant::never()) {}

  // --- the next probe ---
  Instant next_time() const;
  // Each of these returns an EV to be probed now, of which no other probe is outstanding, or none.
  std::optional<EvIndex> take_retired(Instant now);
  std::optional<EvIndex> take_first(Instant now);
  std::optional<EvIndex> take_check(Instant now);
  std::optional<EvIndex> take_lossy(Instant now);
  std::optional<EvIndex> take_witness(Instant now);
  std::optional<EvIndex> take_any(PlaneId plane);  // on that plane, a good one if possible

  // --- retired EVs ---
  void on_retired(Instant now, EvIndex ev) { schedule(now, ev, config_.ev_probe_interval / 8); }
  // It works again: the others of its plane are probed within an interval.
  void on_restored(Instant now, EvIndex ev);
  void on_denied(EvIndex ev) { evs_[ev].next = Instant::never(); }  // it is not probed
  void expedite(Instant now, PlaneId plane);

  // --- lossy planes ---
  void on_lossy(Instant now, PlaneId plane) { lossy_[plane] = now + config_.ev_probe_interval / 2; }
  void on_not_lossy(PlaneId plane) { lossy_[plane] = Instant::never(); }

  // --- probes of links before they are used ---
  // A QP to the peer exists: each link is tested before data use it. The first call counts [MRC-EVS-15].
  void begin_first(Instant now);
  void end_first() { first_.end(); }  // data use the paths
  void postpone_first(Instant now) { first_.postpone(now + config_.ev_probe_interval / 8); }
  Instant first_began() const { return first_.began(); }  // never(): not yet
  // A probe of this EV tests a link that has not delivered anything.
  bool tests_link(EvIndex ev) const {
    return check_of(ev).ev != ev && first_.begun() && links_.of(ev) && !health_.links().proven(ev);
  }

  // --- checks of reverse paths ---
  // Packets arrive, or are sent that nothing acknowledges: the planes are checked. True: they were not before, so
  // next_time() is another.
  bool start_checks(Instant now) {
    if (checking_) return false;
    checking_ = true;
    for (Check& c : checks_) c.next = now + config_.ev_probe_interval;
    return true;
  }
  void on_inbound(Instant now, PlaneId plane) { checks_[plane].requested_at = now; }
  // The probe of this EV, sent then, is unanswered. True: so were as many checks of its plane in a row as prove that
  // answers do not pass it.
  bool on_silent_check(EvIndex ev, Instant sent_at);
  void on_plane_answered(PlaneId plane) { checks_[plane].in_a_row = 0; }
  // Requests of the peer have arrived on the plane since: what answers a probe may wait behind others.
  Instant earliest_expiry(EvIndex ev, Instant sent_at) const {
    return check_of(ev).requested_at >= sent_at ? sent_at + config_.ev_probe_interval * kIntervalsBehindRequests
                                                : sent_at;
  }

  // --- outstanding probes ---
  bool outstanding(EvIndex ev) const { return evs_[ev].outstanding; }
  // Time after which a probe of this EV without an answer is evidence against it: the interval, doubled for each that
  // went unanswered, and at least twice as long as the peer's answers take now; at most kMaxTimeoutIntervals intervals
  // [MRC-EVS-8].
  Duration timeout(EvIndex ev) const;
  // `overdue`: on_lost() was called for that probe, and another one may be outstanding.
  void on_answer(EvIndex ev, Duration took, bool overdue) {
    if (!overdue) evs_[ev].outstanding = false;
    answer_time_ = took > answer_time_ ? took : answer_time_ - (answer_time_ - took) / 8;
  }
  void on_lost(Instant now, EvIndex ev);
  void on_unsent(Instant now, EvIndex ev);
  // No probe of it will be answered. False: none was outstanding.
  bool forget(EvIndex ev) {
    const bool was_outstanding = evs_[ev].outstanding;
    evs_[ev].outstanding = false;
    return was_outstanding;
  }
  void check() const;

 private:
  static constexpr int64_t kIntervalsBehindRequests = 4;  // probe intervals
  // Silent checks that retire a plane. One on which requests arrive works at least one way: of four planes that lose
  // 1 % each way, some two checks in a row would be silent every half a minute.
  static constexpr uint8_t kSilentChecks = 2, kSilentChecksOfOneInUse = 3;
  static constexpr uint8_t kDoublings = 3;
  static_assert(1 << kDoublings == kMaxTimeoutIntervals);
  struct Probe {
    Instant next = Instant::never();  // of a retired EV
    uint8_t unanswered = 0;           // in a row
    bool outstanding = false;
    bool retired() const { return next < Instant::never(); }
  };
  // Of the planes that carry answers.
  struct Check {
    Instant next = Instant::never();
    Instant silent = kLongAgo;        // when the last unanswered one was sent
    Instant first = kLongAgo;         // and the first one of them in a row
    uint8_t in_a_row = 0;             // of these, since the plane delivered something
    Instant requested_at = kLongAgo;  // when a request of the peer arrived on the plane
    std::optional<EvIndex> ev;        // probed by the last one
  };

  std::optional<EvIndex> take(EvIndex ev) {
    evs_[ev].outstanding = true;
    return ev;
  }
  void schedule(Instant now, EvIndex ev, Duration wait);
  std::optional<EvIndex> draw_unprobed(PlaneSet planes) const;  // a good one, of which no probe is outstanding
  const Check& check_of(EvIndex ev) const { return checks_[health_.plane_of(ev)]; }

  const EndpointConfig& config_;
  const EvLinks& links_;
  const EvHealthTable& health_;
  const PlaneUse& use_;
  const PathChooser& chooser_;
  Rng* rng_;
  PerEv<Probe> evs_;
  PerPlane<Check> checks_;
  PerPlane<Instant> lossy_;  // when the plane is probed again; never(): it is not lossy
  FirstProbes first_;
  Duration answer_time_;        // round trips of probes: the longest, decaying
  bool checking_ = false;       // packets arrived since the last check
  bool needs_witness_ = false;  // a lossy plane is probed
};

}  // namespace mrc::core
