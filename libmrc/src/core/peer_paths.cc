#include "core/peer_paths.h"

#include <algorithm>

namespace mrc::core {

namespace {
constexpr int64_t kClaimQueryIntervals = 8;  // probe intervals between queries of a plane whose port is down
// In a row, of an EV of a lossy plane: of two, random loss would retire the others, too.
constexpr uint8_t kSilentProbes = 8;
}  // namespace

PeerPaths::PeerPaths(const EndpointConfig& config, const EvNames& names, const EvLinks& links,
                     const PeerDescription& peer, Counters* counters, TraceSink* trace, Rng* rng)
    : config_(config),
      health_(config, links),
      lossy_(config, health_),
      chooser_(health_, use_, names, rng),
      probes_(config, links, health_, use_, chooser_, rng),
      claims_(std::min(config.planes.size(), PlaneSet::kMaxPlanes), config.ev_probe_interval * kClaimQueryIntervals),
      listeners_{*counters, trace} {
  PlaneSet present;
  for (const PlaneId p : config.planes.ids() & peer.planes.ids()) present.set(p, !peer.planes[p].addr.is_zero());
  set_present_planes(present);
}

void PeerPaths::refresh_usable() {
  use_.refresh(claims_.claimed(), claims_.down());
  lossy_.on_usable(use_.usable());
  ++generation_;
}

// --- evidence ---

void PeerPaths::on_lost(Instant now, EvIndex ev, Instant sent_at) {
  const EvHealthTable::Failed failed = health_.on_lost(ev, sent_at);
  if (failed.ev) assume_bad(now, ev, TraceTrigger::kLosses);
  if (failed.link) suspect_link(now, ev, TraceTrigger::kLosses);
  if (failed.plane) suspend_dead_planes(now);
  leave_if_lossy(now, plane_of(ev));
}

void PeerPaths::suspend_dead_planes(Instant now) {
  for (const PlaneId plane : health_.planes()) {
    const Instant dead_at = health_.dead_at(plane);
    if (dead_at < Instant::never() && dead_at <= now) suspend_plane(now, plane, TraceTrigger::kLosses);
  }
}

void PeerPaths::on_timeout(Instant now, EvIndex ev) {
  health_.count_loss(ev);
  if (!config_.oblivious) assume_bad(now, ev, TraceTrigger::kTimedOut);
}

void PeerPaths::on_loss_refuted(Instant now, EvIndex ev, Instant sent_at, bool timed_out) {
  if (!timed_out) health_.on_loss_refuted(ev);
  const PlaneId plane = plane_of(ev);
  return_if_delivering(now, plane, TraceTrigger::kLossRefuted);
  Instant blamed = health_.last_loss_sent(ev);
  if (use_.suspended().contains(plane)) blamed = std::max(blamed, health_.last_loss_sent(plane));
  if (health_.state(ev) == EvState::kAssumedBad && sent_at >= blamed) recover(now, ev, TraceTrigger::kLossRefuted);
}

// --- judgement ---

// [MRC-EVS-5]
void PeerPaths::suspend_plane(Instant now, PlaneId plane, TraceTrigger why) {
  health_.clear_streak(plane);
  // A plane is retired only in favour of another one, be it a lossy one: without another plane there is no gain.
  if (PlaneSet{plane}.contains_all(health_.carrying(use_.with_lossy())) || use_.suspended().contains(plane)) return;
  use_.suspend(plane);
  refresh_usable();
  ++listeners_.counters.plane_suspensions;
  trace_plane(now, plane, false, why);
  // Backups of a suspended plane must not be activated: retire inactive ones first.
  for (int pass = 0; pass < 2; ++pass)
    for (const EvIndex i : health_.evs())
      if (plane_of(i) == plane && health_.active(i) == (pass == 1)) assume_bad(now, i, TraceTrigger::kPlaneSuspended);
}

void PeerPaths::resume_plane(Instant now, PlaneId plane, TraceTrigger why) {
  if (!use_.suspended().contains(plane)) return;
  use_.resume(plane);
  health_.retest_share(plane);
  refresh_usable();
  trace_plane(now, plane, true, why);
}

// [MRC-EVS-20]
void PeerPaths::leave_if_lossy(Instant now, PlaneId plane) {
  if (config_.oblivious || plane_lossy(plane) || !plane_usable(plane)) return;
  if (!lossy_.on_lost(now, plane, use_.usable())) return;
  use_.set_lossy(plane, true);
  probes_.on_lossy(now, plane);
  refresh_usable();
  ++listeners_.counters.plane_lossy;
  trace_plane(now, plane, false, TraceTrigger::kLosses);
}

void PeerPaths::return_if_delivering(Instant now, PlaneId plane, TraceTrigger why) {
  if (!plane_lossy(plane) || !lossy_.delivers_again(plane, use_.usable())) return;
  use_.set_lossy(plane, false);
  probes_.on_not_lossy(plane);
  refresh_usable();
  trace_plane(now, plane, true, why);
}

// Planes that are out of use count neither for the floor nor against it: an eighth of the planes may be all that is
// left. [MRC-EVS-6]
uint32_t PeerPaths::floor() const {
  if (config_.ev_min_active != 0) return config_.ev_min_active;
  return quarter(use_.usable());
}

uint32_t PeerPaths::quarter(PlaneSet planes) const {
  return std::max(1u, health_.nominal_active(planes) / 4);
}

// One of its EVs is retired, so that it is probed: an answer clears the link. [MRC-EVS-14]
void PeerPaths::suspect_link(Instant now, EvIndex ev, TraceTrigger why) {
  if (!health_.links().may_suspect(ev) || health_.in_use(use_.usable(), ev) < floor()) return;
  if (health_.state(ev) == EvState::kDenied) return;  // it would not be probed
  health_.suspect_link(ev);
  ++generation_;
  assume_bad(now, ev, why);
  ++listeners_.counters.link_suspicions;
}

bool PeerPaths::assume_bad(Instant now, EvIndex ev, TraceTrigger why) {
  if (health_.state(ev) != EvState::kGood) return false;
  const bool in_use = health_.active(ev) && health_.good(ev) && plane_usable(plane_of(ev));
  if (in_use && health_.in_use(use_.usable()) <= floor()) return false;
  const bool was_active = health_.retire(ev);
  ++listeners_.counters.ev_assumed_bad;
  report_state(now, ev, why);
  if (was_active) health_.activate_backup(plane_of(ev));
  probes_.on_retired(now, ev);
  // What the peer's process reports counts for its own QPs alone: others at its address are not to suffer from it.
  if (why != TraceTrigger::kOtherEngine && why != TraceTrigger::kPeerVerdict) report_failure(ev);
  return true;
}

void PeerPaths::recover(Instant now, EvIndex ev, TraceTrigger why) {
  health_.restore(ev);
  ++listeners_.counters.ev_recovered;
  report_state(now, ev, why);
  probes_.on_restored(now, ev);
  const PlaneId plane = plane_of(ev);
  health_.clear_streak(plane);
  resume_plane(now, plane, why);
  health_.activate_if_short(ev);
}

// [MRC-CHOICE-Q21]
void PeerPaths::set_denied(Instant now, EvIndex ev, bool denied) {
  if (denied == (health_.state(ev) == EvState::kDenied)) return;
  if (!denied) return recover(now, ev, TraceTrigger::kOperator);
  const bool was_in_use = health_.deny(ev);
  probes_.on_denied(ev);
  report_state(now, ev, TraceTrigger::kOperator);
  if (was_in_use) health_.activate_backup(plane_of(ev));
}

// --- reports ---

void PeerPaths::trace_plane(Instant now, PlaneId plane, bool up, TraceTrigger why) {
  if (listeners_.trace != nullptr)
    listeners_.trace->on_trace(TraceEntry::of(now, Qpn(), why, event::Plane{.plane = plane, .up = up}));
}

void PeerPaths::report_state(Instant now, EvIndex ev, TraceTrigger why) {
  ++generation_;
  const EvState state = health_.state(ev);
  const uint64_t unreported = health_.take_unreported_losses(ev);
  if (listeners_.sink != nullptr) listeners_.sink->on_ev_state(ev, state, unreported);
  if (listeners_.trace == nullptr) return;
  const event::EvState change{
      .ev = config_.evs[ev].value, .state = state, .plane = plane_of(ev), .losses = health_.losses(ev)};
  listeners_.trace->on_trace(TraceEntry::of(now, Qpn(), why, change));
}

// [MRC-EVS-16]
void PeerPaths::report_failure(EvIndex ev) const {
  if (listeners_.sink == nullptr || listeners_.peer == nullptr) return;
  const PlaneId plane = plane_of(ev);
  const PerPlane<PlaneAddress>& planes = listeners_.peer->planes;
  if (planes.has(plane)) listeners_.sink->on_path_failed({planes[plane].addr, config_.evs[ev].value, plane});
}

// --- probes ---

Instant PeerPaths::next_probe_time() const {
  Instant next = std::min(probes_.next_time(), claims_.next_time());
  for (const PlaneId plane : health_.planes()) next = std::min(next, health_.dead_at(plane));
  return next;
}

std::optional<EvIndex> PeerPaths::take_due_probe(Instant now) {
  suspend_dead_planes(now);  // they are probed then
  if (!claims_.expire(now).empty()) refresh_usable();
  if (const std::optional<EvIndex> claimed = take_claim_probe(now)) return claimed;
  if (const std::optional<EvIndex> retired = probes_.take_retired(now)) return retired;
  if (const std::optional<EvIndex> first = probes_.take_first(now)) {
    health_.on_probe_sent(now, *first);
    return first;
  }
  if (const std::optional<EvIndex> lossy = probes_.take_lossy(now)) return lossy;
  if (const std::optional<EvIndex> witness = probes_.take_witness(now)) return witness;
  return probes_.take_check(now);
}

// Verification of the peer's port reports. A port that is down may also have recovered without a report: the process
// that would have sent it has ended, or its two updates overtook each other. [MRC-PORT-3..4]
std::optional<EvIndex> PeerPaths::take_claim_probe(Instant now) {
  while (const std::optional<PlaneId> plane = claims_.take_due(now)) {
    if (use_.locally_up(*plane) && use_.present(*plane))
      if (const std::optional<EvIndex> ev = probes_.take_any(*plane)) return ev;
    claims_.on_unsent(*plane);
  }
  return std::nullopt;
}

void PeerPaths::forget_probes() {
  for (const EvIndex ev : health_.evs())
    if (probes_.forget(ev)) health_.forget_link_test(ev);
}

// [MRC-CHOICE-Q20]
void PeerPaths::on_probe_answer(Instant now, EvIndex ev, Instant sent_at, bool overdue) {
  const PlaneId plane = plane_of(ev);
  const Duration took = now - sent_at;
  if (plane_lossy(plane) && health_.state(ev) == EvState::kGood && !overdue) health_.count_probe(plane, true);
  probes_.on_answer(ev, took, overdue);
  on_delivered(now, ev, sent_at);
  probes_.on_plane_answered(plane);
  return_if_delivering(now, plane, TraceTrigger::kProbeAnswered);
  on_rtt(ev, took);
  if (const PortClaims::Proof proof = claims_.on_answer(now, plane, sent_at); proof != PortClaims::Proof::kNone) {
    listeners_.counters.port_status_refuted += proof == PortClaims::Proof::kRefuted;
    refresh_usable();
    probes_.expedite(now, plane);
    trace_plane(now, plane, true, TraceTrigger::kProbeAnswered);
  }
  const bool outdated = overdue && sent_at < health_.last_loss_sent(ev);
  if (health_.state(ev) == EvState::kAssumedBad && !outdated) recover(now, ev, TraceTrigger::kProbeAnswered);
}

void PeerPaths::on_probe_lost(Instant now, EvIndex ev, Instant sent_at) {
  probes_.on_lost(now, ev);
  if (health_.state(ev) == EvState::kAssumedBad) return;
  const PlaneId plane = plane_of(ev);
  const bool peer_ran = peer_ran_since(sent_at - config_.ev_probe_interval / 2);  // [MRC-EVS-17]
  if (claims_.down().contains(plane)) return;                                     // as the peer has reported
  if (plane_lossy(plane)) {
    if (peer_ran) health_.count_probe(plane, false);
    if (!plane_usable(plane)) return judge_out_of_use(now, ev, sent_at, peer_ran);
  }
  if (probes_.tests_link(ev)) return on_link_probe_lost(now, ev, sent_at);
  // Of a peer that answered something at about that time, or later, over a plane that is not merely slow.
  if (!peer_ran || !passed_over(now, ev, sent_at)) return;
  // Silent checks in a row retire the plane: a receiver has no other evidence, and another EV of a failed plane would
  // lose its SACKs for two checks more. [MRC-EVS-9]
  const bool again = probes_.on_silent_check(ev, sent_at);
  on_lost(now, ev, sent_at);
  if (again && !config_.oblivious) suspend_plane(now, plane, TraceTrigger::kSilence);
}

// A probe of a plane that is lossy, and therefore out of use already. Its dead EVs are retired all the same: the
// plane's share is that of the others. [MRC-EVS-20]
void PeerPaths::judge_out_of_use(Instant now, EvIndex ev, Instant sent_at, bool peer_ran) {
  if (!peer_ran || !passed_over(now, ev, sent_at)) return;
  (void)health_.on_ev_lost(ev, sent_at);
  const PlaneSet plane{plane_of(ev)};
  const bool enough_left = !health_.active(ev) || health_.in_use(plane) > quarter(plane);
  if (health_.streak(ev) >= kSilentProbes && enough_left) assume_bad(now, ev, TraceTrigger::kSilence);
}

// A link of a plane that works is suspected. Of a plane that does not, while others do, it is as any loss: four of them
// retire the plane. Where nothing was answered, the peer may be far away. [MRC-EVS-15]
void PeerPaths::on_link_probe_lost(Instant now, EvIndex ev, Instant sent_at) {
  const Instant began = probes_.first_began();
  if (health_.last_delivered_sent(plane_of(ev)) >= began) {
    if (health_.on_link_probe_lost(ev, sent_at)) suspect_link(now, ev, TraceTrigger::kSilence);
  } else if (peer_ran_since(began)) {
    on_lost(now, ev, sent_at);
  }
}

void PeerPaths::on_probe_unsent(Instant now, EvIndex ev) {
  health_.forget_link_test(ev);
  claims_.on_unsent(plane_of(ev));
  probes_.on_unsent(now, ev);
}

// --- administration ---

void PeerPaths::set_local_planes(PlaneSet up) {
  use_.set_local(up);
  refresh_usable();
}

bool PeerPaths::on_port_status(Instant now, PlaneSet up) {
  const PlaneSet before = claims_.claimed() | claims_.down();
  const bool accepted = claims_.on_report(now, up, use_.probeable());
  const PlaneSet called_down = (claims_.claimed() | claims_.down()) - before;
  if (!called_down.empty()) refresh_usable();
  for (const PlaneId plane : called_down) trace_plane(now, plane, false, TraceTrigger::kPortStatus);
  return accepted;
}

void PeerPaths::set_narrow_planes(PlaneSet narrow) {
  if (use_.set_narrow(narrow)) refresh_usable();
}

void PeerPaths::set_present_planes(PlaneSet present) {
  use_.set_present(present);
  refresh_usable();
}

// A plane in use has no reason against it.
void PeerPaths::check() const {
  if constexpr (!kCheckInvariants) return;
  claims_.check();
  use_.check(claims_.down());
  if (!pace_.due(config_.evs.size())) return;
  health_.check();
  chooser_.check();
  probes_.check();
}

}  // namespace mrc::core
