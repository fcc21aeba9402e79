// PeerPaths: the paths towards one peer, shared by all QPs to that peer (spec/architecture.md, decision 11). It joins
// EvHealthTable, the evidence; PathChooser, the choice of paths; and ProbeSchedule; and it judges: which EVs, links and
// planes are in use. States GOOD, ASSUMED_BAD and DENIED are decided here; SKIP belongs to the QP's rotation
// [MRC-EVS-1..9].
//
// Judgement. An EV, or a whole plane, with enough evidence against it is retired (EvHealthTable). To retire a single EV
// is refused where it would leave fewer than ev_min_active GOOD ones on the planes in use; a plane is retired only in
// favour of another one. A retired EV is replaced by a backup of its own plane and probed until it answers.
//
// Where EVs name their links (EvLinks), what one of them shows counts for all that cross the same link: a suspected
// link is avoided like a retired EV, until a probe of one of its EVs is answered [MRC-EVS-13..15].
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/planes.h"
#include "base/rng.h"
#include "base/time.h"
#include "core/config.h"
#include "core/counters.h"
#include "core/ev_choice.h"
#include "core/ev_health_table.h"
#include "core/ev_links.h"
#include "core/ev_names.h"
#include "core/lossy_planes.h"
#include "core/path_chooser.h"
#include "core/path_order.h"
#include "core/plane_use.h"
#include "core/port_claims.h"
#include "core/probe_schedule.h"
#include "core/status.h"
#include "core/trace.h"
#include "invariant.h"

namespace mrc::core {

class PeerPaths {
 public:
  PeerPaths(const EndpointConfig& config, const EvNames& names, const EvLinks& links, const PeerDescription& peer,
            Counters* counters, TraceSink* trace, Rng* rng);
  PeerPaths(const PeerPaths&) = delete;
  PeerPaths& operator=(const PeerPaths&) = delete;

  // Reports changes of state from now on, and with the peer's description, which outlives this, paths that failed.
  void set_sink(Sink* sink, const PeerDescription* peer = nullptr) {
    listeners_.sink = sink;
    listeners_.peer = peer;
  }

  // --- choosing, see PathChooser and EvHealthTable ---
  uint32_t generation() const { return generation_; }  // incremented when the usable set changes
  bool usable(EvIndex ev) const { return health_.state(ev) == EvState::kGood && plane_usable(plane_of(ev)); }
  // Both ends have it, neither end's port is down or reported down, and it is neither suspended nor lossy.
  bool plane_usable(PlaneId plane) const { return use_.usable(plane); }
  PlaneSet lossy_planes() const { return use_.lossy(); }
  // Its probe measures what its plane delivers, whose losses are all that there is against it.
  bool measures_lossy(EvIndex ev) const {
    const PlaneId plane = plane_of(ev);
    return health_.good(ev) && plane_lossy(plane) && use_.with_lossy().contains(plane);
  }
  PlaneId plane_of(EvIndex ev) const { return health_.plane_of(ev); }
  size_t plane_count() const { return health_.plane_count(); }
  Duration plane_rtt(PlaneId plane) const { return health_.plane_rtt(plane); }
  uint32_t draw_order(PathOrder* order, const EvChoice* choice = nullptr) const {
    return chooser_.draw_order(order, choice);
  }
  uint32_t draw(size_t count) const { return chooser_.draw(count); }
  bool take_wait(EvIndex ev) { return health_.take_wait(ev); }
  std::optional<EvIndex> pick_control(PlaneSet planes_with_room) { return chooser_.pick_control(planes_with_room); }
  std::optional<EvIndex> pick_datagram(PlaneSet planes_with_room) { return chooser_.pick_datagram(planes_with_room); }
  std::optional<EvIndex> pick_answer(PlaneSet planes_with_room) { return chooser_.pick_answer(planes_with_room); }
  std::optional<EvIndex> any_ev(PlaneId plane) const { return chooser_.draw_any(plane); }

  // --- evidence ---
  void on_datagrams_sent(EvIndex ev, uint32_t packets, uint32_t bytes) {
    health_.on_sent(ev, packets, bytes);
    chooser_.on_datagrams_sent(ev, bytes);
  }
  // Packets of a connection were sent on it, which the peer acknowledges.
  void on_data_sent(Instant now, EvIndex ev, uint32_t packets, uint32_t bytes) {
    health_.on_sent(ev, packets, bytes);
    health_.on_data_sent(now, ev, packets);
  }
  // It delivers now what was sent then, so many packets.
  void on_delivered(Instant now, EvIndex ev, Instant sent_at, uint32_t packets = 1) {
    if (health_.on_delivered(now, ev, sent_at, packets)) ++generation_;
    chooser_.on_delivered(ev);
  }
  Instant delivered_at(PlaneId plane) const { return health_.delivered_at(plane); }
  PlaneEvidence evidence(PlaneId plane, Instant sent_at) const { return health_.evidence(plane, sent_at); }
  // The plane of that EV should have delivered what was sent then: it delivers what was sent later, or nothing for two
  // of its round trips.
  bool passed_over(Instant now, EvIndex ev, Instant sent_at) const {
    const PlaneEvidence evidence = health_.evidence(plane_of(ev), sent_at);
    return std::max(evidence.delivered_at, sent_at) + evidence.round_trip * 2 <= now ||
           health_.last_delivered_sent(plane_of(ev)) > sent_at;
  }
  // A round trip of packets that were sent once, together. For tools only.
  void on_rtt(EvIndex ev, Duration rtt) { health_.on_rtt(ev, rtt); }
  // A round trip that certainly is that of a packet on this path [MRC-LOSS-6].
  void on_plane_rtt(EvIndex ev, Duration rtt) { health_.on_plane_rtt(ev, rtt); }
  void on_lost(Instant now, EvIndex ev, Instant sent_at);
  // A packet was not answered within the packet timeout.
  void on_timeout(Instant now, EvIndex ev);
  // The same for one sent at `sent_at`, where all the peer may have been silent.
  void on_unanswered(Instant now, EvIndex ev, Instant sent_at) {
    if (peer_ran_since(sent_at))
      on_timeout(now, ev);
    else
      health_.count_loss(ev);
  }
  // Something sent at or after that time was delivered, on any plane. A peer of which all is silent is busy, gone or
  // out of reach: that is no evidence against one path [MRC-EVS-17].
  bool peer_ran_since(Instant sent_at) const { return health_.peer_ran_since(sent_at); }
  // A packet that counted as lost on this EV has arrived, as on_delivered() was told: its loss is no evidence.
  // `timed_out`: by on_unanswered() or on_timeout(), not on_lost().
  void on_loss_refuted(Instant now, EvIndex ev, Instant sent_at, bool timed_out = false);
  void on_ecn(EvIndex ev) { health_.on_ecn(ev); }
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
    chooser_.on_inbound(plane, ev);
    probes_.on_inbound(now, plane);
    probes_.end_first();
    return probes_.start_checks(now);
  }
  // Packets are sent that nothing acknowledges, answers or datagrams: the planes are checked. True as above.
  bool start_checks(Instant now) { return probes_.start_checks(now); }

  // --- probing, see ProbeSchedule ---
  void begin_first_probes(Instant now) { probes_.begin_first(now); }
  void end_first_probes() { probes_.end_first(); }  // a message is posted
  void postpone_first_probes(Instant now) { probes_.postpone_first(now); }
  Instant next_probe_time() const;
  // The next EV to be probed now; call until it returns none.
  std::optional<EvIndex> take_due_probe(Instant now);
  Duration probe_timeout(EvIndex ev) const { return probes_.timeout(ev); }
  // Until when a probe that was sent then may be unanswered although its path works, its timeout aside. The answer
  // comes over the plane on which requests of the peer may wait in a queue.
  Instant earliest_probe_expiry(EvIndex ev, Instant sent_at) const {
    const bool good = health_.state(ev) == EvState::kGood && use_.with_lossy().contains(plane_of(ev));
    return good ? probes_.earliest_expiry(ev, sent_at) : sent_at;
  }
  // `overdue`: on_probe_lost() was called for that probe, and another one may be outstanding.
  void on_probe_answer(Instant now, EvIndex ev, Instant sent_at, bool overdue = false);
  void on_probe_lost(Instant now, EvIndex ev, Instant sent_at);
  void on_probe_unsent(Instant now, EvIndex ev);  // no evidence
  void forget_probes();                           // none of the outstanding ones will be answered

  // --- administration ---
  void set_denied(Instant now, EvIndex ev, bool denied);
  void set_local_planes(PlaneSet up);
  // A port status update of the peer: the planes that are up. Probes are due at once. False: it must not be answered.
  bool on_port_status(Instant now, PlaneSet up);
  void set_present_planes(PlaneSet present);  // planes that both ends have, when the peer has reported them
  // Planes that are too narrow for full packets are avoided if another one is in use [MRC-MTU-3].
  void set_narrow_planes(PlaneSet narrow);
  // It is not reported down. It may be retired because of losses, which its MTU may cause.
  bool plane_could_carry(PlaneId plane) const { return (use_.probeable() - claims_.down()).contains(plane); }
  PerEv<EvStatus> status() const { return health_.status(); }
  void check() const;

 private:
  // Receiver of reported changes.
  struct Listeners {
    Counters& counters;
    TraceSink* trace = nullptr;
    Sink* sink = nullptr;
    const PeerDescription* peer = nullptr;
  };

  bool plane_lossy(PlaneId plane) const { return use_.lossy().contains(plane); }
  uint32_t floor() const;
  uint32_t quarter(PlaneSet planes) const;  // of their active EVs, as configured; at least one
  void suspect_link(Instant now, EvIndex ev, TraceTrigger why);
  void on_link_probe_lost(Instant now, EvIndex ev, Instant sent_at);
  void judge_out_of_use(Instant now, EvIndex ev, Instant sent_at, bool peer_ran);
  bool assume_bad(Instant now, EvIndex ev, TraceTrigger why);
  void recover(Instant now, EvIndex ev, TraceTrigger why);
  void report_state(Instant now, EvIndex ev, TraceTrigger why);
  void report_failure(EvIndex ev) const;
  void trace_plane(Instant now, PlaneId plane, bool up, TraceTrigger why);
  void suspend_dead_planes(Instant now);
  void suspend_plane(Instant now, PlaneId plane, TraceTrigger why);
  void resume_plane(Instant now, PlaneId plane, TraceTrigger why);
  void leave_if_lossy(Instant now, PlaneId plane);
  void return_if_delivering(Instant now, PlaneId plane, TraceTrigger why);
  std::optional<EvIndex> take_claim_probe(Instant now);
  void refresh_usable();

  const EndpointConfig& config_;
  EvHealthTable health_;
  LossyPlanes lossy_;
  PlaneUse use_;
  uint32_t generation_ = 1;
  PathChooser chooser_;
  ProbeSchedule probes_;
  PortClaims claims_;
  Listeners listeners_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
