// PeerPaths: the health of every EV towards one peer, shared by all QPs to that peer (spec/architecture.md, decision
// 11), and the set of EVs in use. States GOOD, ASSUMED_BAD and DENIED are kept here; SKIP belongs to the QP's rotation
// [MRC-EVS-1..9].
//
// Judgement of a path. Packets carry their send time. A loss counts against an EV only when nothing that was sent on
// it at or after that time has been delivered; two such losses at different send times make it ASSUMED_BAD, so that
// random loss inside a burst retires no path. Losses between which its whole plane delivered nothing count as one: the
// plane was interrupted, or the receiver's queue overflowed [MRC-EVS-18]. Of a path that has never delivered one is
// enough, once something sent later on its plane has arrived. The same count per plane, kPlaneStreak bursts without one
// delivery, retires the whole plane at once: a failed port is abandoned within a round trip instead of EV by EV. To
// retire a single EV is refused where it would leave fewer than ev_min_active GOOD ones on the planes in use. A retired
// EV is replaced by a backup of its own plane and probed until it answers.
//
// Where EVs name their links (EvLinks), what one of them shows counts for all that cross the same link: a suspected
// link is avoided like a retired EV, until a probe of one of its EVs is answered [MRC-EVS-13..15].
//
// peer_paths.cc judges, peer_paths_choice.cc chooses paths, peer_paths_probes.cc schedules probes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/invariant.h"
#include "base/planes.h"
#include "base/rng.h"
#include "base/time.h"
#include "core/config.h"
#include "core/counters.h"
#include "core/ev_choice.h"
#include "core/ev_links.h"
#include "core/ev_names.h"
#include "core/first_probes.h"
#include "core/link_suspicion.h"
#include "core/path_order.h"
#include "core/plane_use.h"
#include "core/port_claims.h"
#include "core/status.h"
#include "core/trace.h"

namespace mrc::core {

struct EvHealth {
  Instant last_delivered_sent = kLongAgo;
  Instant last_loss_sent = kLongAgo;
  Instant next_probe = Instant::never();
  uint64_t tx_packets = 0;
  uint64_t losses = 0;
  uint64_t ecn_marks = 0;
  EvState state = EvState::kGood;
  uint8_t streak = 0;
  uint8_t unanswered = 0;  // EV probes in a row
  PlaneId plane;
  bool active = false;
  bool probing = false;  // an EV probe is outstanding
  uint64_t losses_told = 0;
  uint64_t tx_bytes = 0;
  Duration rtt;                           // smoothed; 0: no sample yet
  Instant first_data = Instant::never();  // when the first packet that will be acknowledged was sent
  uint8_t waits = 0;                      // turns given up before the first delivery

  // It has carried data and delivered nothing.
  bool unproven() const { return last_delivered_sent == kLongAgo && first_data < Instant::never(); }
};

class PeerPaths {
 public:
  PeerPaths(const EndpointConfig& config, const EvNames& names, const EvLinks& links, const PeerDescription& peer,
            Counters* counters, TraceSink* trace, Rng* rng);

  // Reports changes of state from now on, and with the peer's description, which outlives this, paths that failed.
  void tell(Sink* sink, const PeerDescription* peer = nullptr) {
    listeners_.sink = sink;
    listeners_.peer = peer;
  }

  // --- choosing ---
  uint32_t generation() const { return generation_; }  // incremented when the usable set changes
  bool usable(EvIndex ev) const { return health_[ev].state == EvState::kGood && plane_usable(health_[ev].plane); }
  // Both ends have it, neither end's port is down or reported down, and it is not suspended.
  bool plane_usable(PlaneId plane) const { return use_.usable(plane); }
  PlaneId plane_of(EvIndex ev) const { return health_[ev].plane; }
  size_t plane_count() const { return planes_.size(); }
  // The EVs for a QP: the active GOOD ones by plane, each plane's shuffled. Falls back to every EV that is not DENIED
  // when nothing is GOOD: sending on a doubtful path is better than not sending. With a choice: of those it allows,
  // active or not, and bad ones too when the good ones are fewer than its minimum [MRC-EVS-10]. Returns the index of a
  // run, drawn.
  uint32_t draw_order(PathOrder* order, const EvChoice* choice = nullptr);
  // A number below `count`.
  uint32_t draw(size_t count) { return rng_->below(static_cast<uint32_t>(count)); }
  // Smoothed round trip of the packets on a plane, of all QPs; 0 before the first sample and with oblivious spraying.
  Duration plane_rtt(PlaneId plane) const { return planes_[plane].rtt; }
  // True: the EV, with all EVs of its link, has never delivered, and what was sent later on its plane has arrived. It
  // gives up this turn, because more packets would probably be lost, too, before the first is judged [MRC-EVS-12..13].
  bool take_wait(EvIndex ev) {
    EvHealth& h = health_[ev];
    if (config_.oblivious || h.streak > 0 || h.waits == kMostWaits) return false;
    if (planes_[h.plane].last_delivered_sent <= tested_since(ev)) return false;
    ++h.waits;
    return true;
  }
  // An EV for a control packet: planes in turn, except known-bad ones [MRC-EVS-9]. None when the good ones
  // have no room; bad ones are taken only when there is no good one at all.
  std::optional<EvIndex> pick_control(PlaneSet planes_with_room);
  // An EV for the answer to requests: of the plane of the last one, and the same path if both ends name paths alike.
  // The peer's packets prove which paths work, and the peer leaves failed ones first [MRC-EVS-9]. Else as above.
  std::optional<EvIndex> pick_answer(PlaneSet planes_with_room);

  // --- evidence ---
  void on_sent(EvIndex ev, uint32_t packets, uint32_t bytes) {
    health_[ev].tx_packets += packets;
    health_[ev].tx_bytes += bytes;
  }
  // Packets of a connection were sent on it, which the peer acknowledges.
  void on_data_sent(Instant now, EvIndex ev) {
    health_[ev].first_data = std::min(health_[ev].first_data, now);
    links_.suspicion.on_sent(now, ev);
  }
  void on_delivered(EvIndex ev, Instant sent_at);
  // A round trip of a packet that was sent once. For tools only.
  void on_rtt(EvIndex ev, Duration rtt) {
    Duration& smoothed = health_[ev].rtt;
    smoothed = smoothed == Duration() ? rtt : smoothed + (rtt - smoothed) / 8;
  }
  // A round trip that certainly is that of a packet on this path [MRC-LOSS-6].
  void on_plane_rtt(EvIndex ev, Duration rtt);
  void on_lost(Instant now, EvIndex ev, Instant sent_at);
  // A packet was not answered within the packet timeout.
  void on_timeout(Instant now, EvIndex ev);
  // The same for one sent at `sent_at`, where all the peer may have been silent.
  void on_unanswered(Instant now, EvIndex ev, Instant sent_at) {
    if (peer_ran_since(sent_at))
      on_timeout(now, ev);
    else
      ++health_[ev].losses;
  }
  // Something sent at or after that time was delivered, on any plane. A peer of which all is silent is busy, gone or
  // out of reach: that is no evidence against one path [MRC-EVS-17].
  bool peer_ran_since(Instant sent_at) const { return answers_.newest_sent >= sent_at; }
  // A packet that counted as lost on this EV has arrived: its loss is no evidence.
  void on_loss_refuted(Instant now, EvIndex ev, Instant sent_at);
  void on_ecn(EvIndex ev) { ++health_[ev].ecn_marks; }
  void on_always_skip(Instant now, EvIndex ev) {
    if (!config_.oblivious) assume_bad(now, ev, TraceTrigger::kPeerVerdict);
  }
  // Another engine of this device found it bad. It is probed from here, too, and its recovery found by that
  // [MRC-EVS-16].
  void on_failed_elsewhere(Instant now, EvIndex ev) {
    if (!config_.oblivious) assume_bad(now, ev, TraceTrigger::kOtherEngine);
  }
  // A request arrived, on this path of the peer. True when the peer's timer has to be set: traffic after a pause,
  // reverse paths are to be checked.
  bool on_inbound(Instant now, PlaneId plane, uint32_t ev) {
    inbound_.plane = plane;
    planes_[plane].heard_ev = ev;
    links_.first_probes.end();
    return start_checks(now);
  }
  // Packets are sent that nothing acknowledges, answers or datagrams: the planes are checked. True as above.
  bool start_checks(Instant now) {
    if (inbound_.any) return false;
    inbound_.any = true;
    for (PlaneHealth& p : planes_) p.next_check = now + config_.ev_probe_interval;
    return true;
  }

  // --- probing ---
  // A QP to the peer exists: each link is tested before data use it. The first call counts [MRC-EVS-15].
  void begin_first_probes(Instant now);
  void end_first_probes() { links_.first_probes.end(); }  // a message is posted
  void postpone_first_probes(Instant now) { links_.first_probes.postpone(now + config_.ev_probe_interval / 8); }
  Instant next_probe_time() const;
  // The next EV to be probed now; call until it returns none.
  std::optional<EvIndex> take_due_probe(Instant now);
  // Time after which a probe of this EV without an answer is evidence against it: the interval, doubled for each that
  // went unanswered, and at least twice as long as the peer's answers take now; at most kMaxPatience intervals
  // [MRC-EVS-8].
  static constexpr int64_t kMaxPatience = 8;
  Duration probe_patience(EvIndex ev) const;
  // `overdue`: on_probe_lost() was called for that probe, and another one may be outstanding.
  void on_probe_answer(Instant now, EvIndex ev, Instant sent_at, bool overdue = false);
  void on_probe_lost(Instant now, EvIndex ev, Instant sent_at);
  void on_probe_unsent(Instant now, EvIndex ev);  // no evidence
  void forget_probes();                           // none of the outstanding ones will be answered

  static constexpr uint8_t kMostWaits = 128;  // of an EV: the verdict may never come, as of a QP that was destroyed

  // --- administration ---
  void set_denied(Instant now, EvIndex ev, bool denied);
  void set_local_planes(PlaneSet up);
  // A port status update of the peer: the planes that are up. Probes are due at once. False: it must not be answered.
  bool on_port_status(Instant now, PlaneSet up);
  void set_present_planes(PlaneSet present);  // planes that both ends have, when the peer has reported them
  // Planes that are too narrow for full packets are avoided if another one is in use [MRC-MTU-3].
  void set_narrow_planes(PlaneSet narrow);
  // It is not reported down. It may be retired because of losses, which its MTU may cause.
  bool plane_could_carry(PlaneId plane) const { return (use_.askable() - claims_.down()).contains(plane); }
  std::optional<EvIndex> any_ev(PlaneId plane) {  // GOOD if there is one
    const std::optional<EvIndex> good = draw_ev(plane, false);
    return good ? good : draw_ev(plane, true);
  }
  PerEv<EvStatus> status() const;
  void check() const;

 private:
  struct PlaneHealth {
    // True: nothing that was sent between these two was delivered, though something before and after them.
    bool in_gap(Instant first, Instant second) const { return gap_from < first && second < gap_to; }
    void on_delivered(Instant sent_at) {
      if (sent_at <= last_delivered_sent) return;
      const bool larger = sent_at - last_delivered_sent >= gap_to - gap_from || sent_at - gap_to > kGapMemory;
      if (last_delivered_sent > kLongAgo && larger) {
        gap_from = last_delivered_sent;
        gap_to = sent_at;
      }
      last_delivered_sent = sent_at;
    }
    Instant last_delivered_sent = kLongAgo;
    Instant gap_from = kLongAgo, gap_to = kLongAgo;  // the largest one lately
    Instant last_loss_sent = kLongAgo;
    Instant silent_check = kLongAgo;  // when the last unanswered check was sent
    uint32_t streak = 0;
    uint16_t nominal_active = 0;
    std::optional<EvIndex> reverse;  // carries control packets on this plane: the last that is known to work
    std::optional<EvIndex> checked;  // probed by the last check of the plane
    uint32_t heard_ev = 0;           // the peer's EV of the last request, by its value
    uint32_t followed_ev = 0;        // the one that `reverse` was chosen by
    Instant next_check = Instant::never();
    Duration rtt;  // smoothed
  };
  // Receiver of reported changes.
  struct Listeners {
    Counters& counters;
    TraceSink* trace = nullptr;
    Sink* sink = nullptr;
    const PeerDescription* peer = nullptr;
  };
  struct Answers {
    Duration time;                   // round trips of probes: the longest, decaying
    Instant newest_sent = kLongAgo;  // of all that was delivered: when the newest was sent
  };
  struct Inbound {
    PlaneId plane;     // of the last request
    bool any = false;  // since the last check of reverse paths
  };
  // Those of the EVs, and what is known about them.
  struct Links {
    const EvLinks& table;
    LinkSuspicion suspicion{table};
    FirstProbes first_probes;
  };
  static constexpr uint32_t kEvStreak = 2, kUnprovenStreak = 1;
  static constexpr uint32_t kPlaneStreak = 4;
  static constexpr Duration kGapMemory = Duration::milliseconds(50);
  static constexpr uint8_t kProbeDoublings = 3;
  static_assert(1 << kProbeDoublings == kMaxPatience);

  // The link, or of an EV without one the EV itself, carried its first packet then, and there is no verdict yet.
  Instant tested_since(EvIndex ev) const {
    if (links_.table.of(ev)) return links_.suspicion.tested_since(ev);
    return health_[ev].unproven() ? health_[ev].first_data : Instant::never();
  }
  // GOOD, and its link is not suspected.
  bool good(EvIndex ev) const { return health_[ev].state == EvState::kGood && !links_.suspicion.suspected(ev); }
  bool has_good_ev(PlaneId plane) const;
  std::optional<EvIndex> reverse_ev(PlaneId plane, bool bad_too);
  void follow_peer(PlaneId plane);
  // Any EV of the plane, of those that are not DENIED.
  std::optional<EvIndex> draw_ev(PlaneId plane, bool bad_too, bool idle_only = false);
  uint32_t floor() const;
  uint32_t in_use(std::optional<LinkIndex> without = std::nullopt) const;
  void suspect_link(Instant now, EvIndex ev, TraceTrigger why);
  void on_first_probe_lost(Instant now, EvIndex ev, Instant sent_at);
  void forget_link_test(EvIndex ev);
  std::optional<EvIndex> take_first_probe(Instant now);
  bool assume_bad(Instant now, EvIndex ev, TraceTrigger why);
  void recover(Instant now, EvIndex ev, TraceTrigger why);
  void set_state(Instant now, EvIndex ev, EvState to, TraceTrigger why);
  void report_failure(EvIndex ev) const;
  void trace_plane(Instant now, PlaneId plane, bool up, TraceTrigger why);
  void suspend_plane(Instant now, PlaneId plane, TraceTrigger why);
  void resume_plane(Instant now, PlaneId plane, TraceTrigger why);
  void activate_backup(PlaneId plane);
  void expedite_probes(Instant now, PlaneId plane);
  void schedule_probe(Instant now, EvIndex ev, Duration wait);
  std::optional<EvIndex> take_claim_probe(Instant now);
  bool remotely_up(PlaneId plane) const { return !claims_.down().contains(plane); }
  void refresh_usable();

  const EndpointConfig& config_;
  const EvNames& names_;
  Listeners listeners_;
  Rng* rng_;
  PerEv<EvHealth> health_;
  PerPlane<PlaneHealth> planes_;
  PortClaims claims_;
  PlaneUse use_;
  Links links_;
  uint32_t generation_ = 1;
  Answers answers_;
  uint8_t control_turn_ = 0;
  Inbound inbound_;
  std::vector<EvIndex> scratch_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
