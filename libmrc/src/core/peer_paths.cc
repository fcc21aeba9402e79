#include "core/peer_paths.h"

#include <algorithm>
#include <array>

namespace mrc::core {

namespace {
constexpr int64_t kAskEvery = 8;  // probe intervals, a plane whose port is down
}

PeerPaths::PeerPaths(const EndpointConfig& config, const EvNames& names, const EvLinks& links,
                     const PeerDescription& peer, Counters* counters, TraceSink* trace, Rng* rng)
    : config_(config),
      names_(names),
      listeners_{*counters, trace},
      rng_(rng),
      claims_(std::min(config.planes.size(), PlaneSet::kMaxPlanes), config.ev_probe_interval * kAskEvery),
      links_{links} {
  planes_.resize(config.planes.size());
  PlaneSet present;
  for (const PlaneId p : config.planes.ids() & peer.planes.ids()) present.set(p, !peer.planes[p].addr.is_zero());
  use_.set_present(present);
  health_.resize(config.evs.size());
  const size_t active =
      config.ev_active == 0 ? config.evs.size() : std::min<size_t>(config.ev_active, config.evs.size());
  for (const EvIndex i : health_.ids()) {
    health_[i].plane = config.evs[i].plane;
    health_[i].active = i.value() < active;
    if (health_[i].active) ++planes_[health_[i].plane].nominal_active;
  }
  scratch_.reserve(health_.size());
  refresh_usable();
}

void PeerPaths::refresh_usable() {
  use_.refresh(claims_.claimed(), claims_.down());
  ++generation_;
}

void PeerPaths::on_delivered(EvIndex ev, Instant sent_at) {
  EvHealth& h = health_[ev];
  if (links_.suspicion.on_delivered(ev, sent_at)) ++generation_;
  if (sent_at > h.last_delivered_sent) h.last_delivered_sent = sent_at;
  if (h.streak != 0 && sent_at >= h.last_loss_sent) h.streak = 0;
  PlaneHealth& p = planes_[h.plane];
  if (h.state == EvState::kGood) p.reverse = ev;  // [MRC-EVS-9]
  p.on_delivered(sent_at);
  if (sent_at > answers_.newest_sent) answers_.newest_sent = sent_at;
  if (p.streak != 0 && sent_at >= p.last_loss_sent) p.streak = 0;
}

// Planes without a sample get the first one of another plane: 0 would look like a plane without queues.
void PeerPaths::on_plane_rtt(EvIndex ev, Duration rtt) {
  if (config_.oblivious) return;
  constexpr Duration kMostRtt = Duration::milliseconds(4000);
  rtt = std::min(rtt, kMostRtt);
  Duration& smoothed = planes_[health_[ev].plane].rtt;
  if (smoothed == Duration()) {
    for (PlaneHealth& p : planes_)
      if (p.rtt == Duration()) p.rtt = rtt;
  }
  smoothed = smoothed + (rtt - smoothed) / 8;
}

// [MRC-CHOICE-Q19]
void PeerPaths::on_lost(Instant now, EvIndex ev, Instant sent_at) {
  EvHealth& h = health_[ev];
  ++h.losses;
  if (config_.oblivious) return;
  PlaneHealth& p = planes_[h.plane];
  if (sent_at > h.last_delivered_sent && sent_at > h.last_loss_sent) {
    const bool again = h.streak == 0 || !p.in_gap(h.last_loss_sent, sent_at);
    h.last_loss_sent = sent_at;
    // That what was sent later has arrived tells a dead path from a peer that is further away than was assumed.
    const bool unproven = h.unproven() && !links_.suspicion.proven(ev) && p.last_delivered_sent > sent_at;
    h.streak += again ? 1 : 0;
    if (h.streak >= (unproven ? kUnprovenStreak : kEvStreak)) assume_bad(now, ev, TraceTrigger::kLosses);
  }
  if (links_.suspicion.on_lost(ev, sent_at, p.last_delivered_sent > sent_at))
    suspect_link(now, ev, TraceTrigger::kLosses);
  if (sent_at > p.last_delivered_sent && sent_at > p.last_loss_sent) {
    p.last_loss_sent = sent_at;
    if (++p.streak >= kPlaneStreak) suspend_plane(now, h.plane, TraceTrigger::kLosses);
  }
}

void PeerPaths::on_timeout(Instant now, EvIndex ev) {
  ++health_[ev].losses;
  if (!config_.oblivious) assume_bad(now, ev, TraceTrigger::kTimedOut);
}

void PeerPaths::on_loss_refuted(Instant now, EvIndex ev, Instant sent_at) {
  on_delivered(ev, sent_at);
  const EvHealth& h = health_[ev];
  const PlaneHealth& p = planes_[h.plane];
  const Instant blamed =
      use_.suspended().contains(h.plane) ? std::max(h.last_loss_sent, p.last_loss_sent) : h.last_loss_sent;
  if (h.state == EvState::kAssumedBad && sent_at >= blamed) recover(now, ev, TraceTrigger::kLossRefuted);
}

// [MRC-EVS-5]
void PeerPaths::suspend_plane(Instant now, PlaneId plane, TraceTrigger why) {
  planes_[plane].streak = 0;
  // A plane is retired only in favour of another one: without another plane in use there is no gain.
  if (PlaneSet{plane}.contains_all(use_.usable()) || use_.suspended().contains(plane)) return;
  use_.suspend(plane);
  refresh_usable();
  ++listeners_.counters.plane_suspensions;
  trace_plane(now, plane, false, why);
  // Backups of a suspended plane must not be activated: retire inactive ones first.
  for (int pass = 0; pass < 2; ++pass)
    for (const EvIndex i : health_.ids())
      if (health_[i].plane == plane && health_[i].active == (pass == 1))
        assume_bad(now, i, TraceTrigger::kPlaneSuspended);
}

void PeerPaths::resume_plane(Instant now, PlaneId plane, TraceTrigger why) {
  if (!use_.suspended().contains(plane)) return;
  use_.resume(plane);
  refresh_usable();
  trace_plane(now, plane, true, why);
}

void PeerPaths::trace_plane(Instant now, PlaneId plane, bool up, TraceTrigger why) {
  if (listeners_.trace != nullptr)
    listeners_.trace->on_trace(TraceEntry::of(now, Qpn(), why, event::Plane{.plane = plane, .up = up}));
}

void PeerPaths::set_state(Instant now, EvIndex ev, EvState to, TraceTrigger why) {
  EvHealth& h = health_[ev];
  h.state = to;
  ++generation_;
  if (listeners_.sink != nullptr) listeners_.sink->on_ev_state(ev, to, h.losses - h.losses_told);
  h.losses_told = h.losses;
  if (listeners_.trace != nullptr)
    listeners_.trace->on_trace(
        TraceEntry::of(now, Qpn(), why,
                       event::EvState{.ev = config_.evs[ev].value, .state = to, .plane = h.plane, .losses = h.losses}));
}

// Planes that are out of use count neither for the floor nor against it: an eighth of the planes may be all that is
// left. [MRC-EVS-6]
uint32_t PeerPaths::floor() const {
  if (config_.ev_min_active != 0) return config_.ev_min_active;
  uint32_t nominal = 0;
  for (const PlaneId p : planes_.ids()) nominal += plane_usable(p) ? planes_[p].nominal_active : 0;
  return std::max(1u, nominal / 4);
}

// The EVs in use, less those of a link.
uint32_t PeerPaths::in_use(std::optional<LinkIndex> without) const {
  uint32_t count = 0;
  for (const EvIndex i : health_.ids()) {
    const EvHealth& h = health_[i];
    count += h.active && good(i) && plane_usable(h.plane) && (!without || links_.table.of(i) != without);
  }
  return count;
}

// One of its EVs is retired, so that it is probed: an answer clears the link. [MRC-EVS-14]
void PeerPaths::suspect_link(Instant now, EvIndex ev, TraceTrigger why) {
  if (!links_.suspicion.may_suspect(ev) || in_use(links_.table.of(ev)) < floor()) return;
  if (health_[ev].state == EvState::kDenied) return;  // it would not be probed
  links_.suspicion.suspect(ev);
  ++generation_;
  assume_bad(now, ev, why);
  ++listeners_.counters.link_suspicions;
}

bool PeerPaths::assume_bad(Instant now, EvIndex ev, TraceTrigger why) {
  EvHealth& h = health_[ev];
  if (h.state != EvState::kGood) return false;
  if (h.active && good(ev) && plane_usable(h.plane) && in_use() <= floor()) return false;
  const bool was_active = h.active;
  h.active = false;
  h.streak = 0;
  ++listeners_.counters.ev_assumed_bad;
  set_state(now, ev, EvState::kAssumedBad, why);
  if (was_active) activate_backup(h.plane);
  schedule_probe(now, ev, config_.ev_probe_interval / 8);
  // What the peer's process reports counts for its own QPs alone: others at its address are not to suffer from it.
  if (why != TraceTrigger::kOtherEngine && why != TraceTrigger::kPeerVerdict) report_failure(ev);
  return true;
}

// [MRC-EVS-16]
void PeerPaths::report_failure(EvIndex ev) const {
  if (listeners_.sink == nullptr || listeners_.peer == nullptr) return;
  const PlaneId plane = health_[ev].plane;
  const PerPlane<PlaneAddress>& planes = listeners_.peer->planes;
  if (planes.has(plane)) listeners_.sink->on_path_failed({planes[plane].addr, config_.evs[ev].value, plane});
}

void PeerPaths::activate_backup(PlaneId plane) {
  for (const EvIndex i : health_.ids()) {
    EvHealth& h = health_[i];
    if (h.plane != plane || h.active || !good(i)) continue;
    h.active = true;
    return;
  }
}

void PeerPaths::recover(Instant now, EvIndex ev, TraceTrigger why) {
  EvHealth& h = health_[ev];
  h.streak = h.unanswered = h.waits = 0;
  h.next_probe = h.first_data = Instant::never();
  links_.suspicion.clear(ev);
  ++listeners_.counters.ev_recovered;
  set_state(now, ev, EvState::kGood, why);
  expedite_probes(now, h.plane);
  PlaneHealth& p = planes_[h.plane];
  p.streak = 0;
  p.silent_check = kLongAgo;
  resume_plane(now, h.plane, why);
  uint32_t active = 0;
  for (const EvHealth& other : health_) active += other.plane == h.plane && other.active;
  if (active < p.nominal_active) h.active = true;
}

// [MRC-CHOICE-Q21]
void PeerPaths::set_denied(Instant now, EvIndex ev, bool denied) {
  EvHealth& h = health_[ev];
  if (denied == (h.state == EvState::kDenied)) return;
  if (denied) {
    const bool was_good_active = h.state == EvState::kGood && h.active;
    h.active = false;
    h.next_probe = Instant::never();
    links_.suspicion.clear(ev);  // it may have been the one that is probed for it
    set_state(now, ev, EvState::kDenied, TraceTrigger::kOperator);
    if (was_good_active) activate_backup(h.plane);
  } else {
    recover(now, ev, TraceTrigger::kOperator);
  }
}

void PeerPaths::set_local_planes(PlaneSet up) {
  use_.set_local(up);
  refresh_usable();
}

bool PeerPaths::on_port_status(Instant now, PlaneSet up) {
  const PlaneSet before = claims_.claimed() | claims_.down();
  const bool heard = claims_.on_word(now, up, use_.askable());
  const PlaneSet called_down = (claims_.claimed() | claims_.down()) - before;
  if (!called_down.empty()) refresh_usable();
  for (const PlaneId plane : called_down) trace_plane(now, plane, false, TraceTrigger::kPortStatus);
  return heard;
}

void PeerPaths::set_narrow_planes(PlaneSet narrow) {
  if (use_.set_narrow(narrow)) refresh_usable();
}

void PeerPaths::set_present_planes(PlaneSet present) {
  use_.set_present(present);
  refresh_usable();
}

PerEv<EvStatus> PeerPaths::status() const {
  PerEv<EvStatus> all(health_.size());
  for (const EvIndex i : health_.ids()) {
    const EvHealth& h = health_[i];
    all[i] = {config_.evs[i].value, h.plane, h.active, h.state, h.tx_packets, h.losses, h.ecn_marks, h.tx_bytes, h.rtt};
  }
  return all;
}

// Only GOOD EVs are active, and no more of a plane than the configuration has; a plane in use has no reason against
// it; the EVs recorded for a plane are its own; a suspected link is probed by way of a bad EV.
void PeerPaths::check() const {
  if constexpr (!kCheckInvariants) return;
  claims_.check();
  use_.check(claims_.down());
  MRC_INVARIANT(answers_.time >= Duration());
  if (!pace_.due(health_.size())) return;
  std::array<uint32_t, PlaneSet::kMaxPlanes> active{};  // a check must not allocate
  for (const EvHealth& h : health_) {
    MRC_INVARIANT(!h.active || h.state == EvState::kGood);
    MRC_INVARIANT(h.unanswered <= kProbeDoublings && h.losses_told <= h.losses);
    MRC_INVARIANT(h.state != EvState::kAssumedBad || h.next_probe < Instant::never());
    active[h.plane.value()] += h.active;
  }
  links_.suspicion.check();
  links_.first_probes.check();
  for (size_t i = 0; i < links_.table.count(); ++i) {
    const absl::Span<const EvIndex> evs = links_.table.evs(LinkIndex(static_cast<uint16_t>(i)));
    MRC_INVARIANT(!links_.suspicion.suspected(evs.front()) || std::any_of(evs.begin(), evs.end(), [&](EvIndex ev) {
      return health_[ev].state == EvState::kAssumedBad;
    }));
  }
  for (const PlaneId i : planes_.ids()) {
    const PlaneHealth& p = planes_[i];
    MRC_INVARIANT(active[i.value()] <= p.nominal_active);
    MRC_INVARIANT(!p.reverse || health_[*p.reverse].plane == i);
    MRC_INVARIANT(!p.checked || health_[*p.checked].plane == i);
  }
}

}  // namespace mrc::core
