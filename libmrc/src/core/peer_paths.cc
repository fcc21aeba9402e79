#include "core/peer_paths.h"

#include <algorithm>
#include <array>

namespace mrc::core {

namespace {
constexpr int64_t kAskEvery = 8;  // probe intervals, a plane whose port is down
}

PeerPaths::PeerPaths(const EndpointConfig& config, const EvNames& names, const PeerDescription& peer,
                     Counters* counters, TraceSink* trace, Rng* rng)
    : config_(config),
      names_(names),
      listeners_{*counters, trace},
      rng_(rng),
      claims_(std::min(config.planes.size(), PlaneSet::kMaxPlanes), config.ev_probe_interval * kAskEvery) {
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

void PeerPaths::draw_lap(std::vector<EvIndex>* lap, const EvChoice* choice) {
  lap->clear();
  // One shuffled run per plane in scratch_, described by its bounds.
  uint16_t begin[PlaneSet::kMaxPlanes], count[PlaneSet::kMaxPlanes];
  uint8_t order[PlaneSet::kMaxPlanes];
  uint32_t used = 0;
  uint16_t longest = 0;
  scratch_.clear();
  const size_t least = choice != nullptr ? std::max<size_t>(1, choice->min_active) : 1;
  // GOOD ones; with a choice also bad ones of usable planes; anything at all.
  enum { kGoodOnes, kDoubtful, kAny };
  for (int relaxed = kGoodOnes; relaxed <= kAny; ++relaxed) {
    if (relaxed == kDoubtful && (choice == nullptr || scratch_.size() >= least)) continue;
    if (relaxed == kAny && !scratch_.empty()) break;
    scratch_.clear();
    longest = 0;
    used = 0;
    for (const PlaneId p : planes_.ids()) {
      if (relaxed != kAny ? !plane_usable(p) : !use_.present(p)) continue;
      const auto first = static_cast<uint16_t>(scratch_.size());
      for (const EvIndex i : health_.ids()) {
        if (health_[i].plane != p) continue;
        if (choice != nullptr && !choice->allows(i)) continue;
        const bool in_use = choice != nullptr || health_[i].active;
        const bool take =
            relaxed == kGoodOnes ? in_use && health_[i].state == EvState::kGood : health_[i].state != EvState::kDenied;
        if (take) scratch_.push_back(i);
      }
      const auto n = static_cast<uint16_t>(scratch_.size() - first);
      if (n == 0) continue;
      for (uint16_t i = n - 1; i > 0; --i) std::swap(scratch_[first + i], scratch_[first + rng_->below(i + 1u)]);
      begin[used] = first;
      count[used] = n;
      order[used] = static_cast<uint8_t>(used);
      longest = std::max(longest, n);
      ++used;
    }
  }
  // A plane with fewer EVs left repeats them: load stays equal per plane.
  for (uint16_t round = 0; round < longest; ++round) {
    for (uint32_t i = used; i > 1; --i) std::swap(order[i - 1], order[rng_->below(i)]);
    for (uint32_t i = 0; i < used; ++i) lap->push_back(scratch_[begin[order[i]] + round % count[order[i]]]);
  }
}

bool PeerPaths::has_good_ev(PlaneId plane) const {
  const std::optional<EvIndex> reverse = planes_[plane].reverse;
  if (reverse && health_[*reverse].state == EvState::kGood) return true;
  return std::any_of(health_.begin(), health_.end(),
                     [&](const EvHealth& h) { return h.plane == plane && h.state == EvState::kGood; });
}

// [MRC-CHOICE-Q22]
std::optional<EvIndex> PeerPaths::pick_control(PlaneSet planes_with_room) {
  const auto plane_count = static_cast<uint8_t>(planes_.size());
  bool healthy = false;
  for (int relaxed = 0; relaxed < 2; ++relaxed) {
    // Waits for a good plane that is only full for the moment: the bad ones have room just because they are not
    // used.
    if (relaxed != 0 && healthy) return std::nullopt;
    for (uint8_t k = 0; k < plane_count; ++k) {
      const PlaneId p(static_cast<uint8_t>((control_turn_ + k) % plane_count));
      if (relaxed == 0 ? !plane_usable(p) : !use_.present(p)) continue;
      if (!planes_with_room.contains(p)) {
        healthy = healthy || (relaxed == 0 && has_good_ev(p));
        continue;
      }
      const std::optional<EvIndex> ev = reverse_ev(p, relaxed != 0);
      if (!ev) continue;
      control_turn_ = static_cast<uint8_t>((p.value() + 1) % plane_count);
      return ev;
    }
  }
  return std::nullopt;
}

std::optional<EvIndex> PeerPaths::pick_answer(PlaneSet planes_with_room) {
  const PlaneId p = inbound_.plane;
  if (plane_usable(p) && planes_with_room.contains(p)) {
    follow_peer(p);
    if (const std::optional<EvIndex> ev = reverse_ev(p, false)) return ev;
  }
  return pick_control(planes_with_room);
}

std::optional<EvIndex> PeerPaths::reverse_ev(PlaneId plane, bool bad_too) {
  std::optional<EvIndex>& reverse = planes_[plane].reverse;
  if (!reverse || (!bad_too && health_[*reverse].state != EvState::kGood)) {
    const std::optional<EvIndex> drawn = draw_ev(plane, bad_too);
    if (!drawn) return std::nullopt;
    reverse = drawn;
  }
  return reverse;
}

void PeerPaths::follow_peer(PlaneId plane) {
  PlaneHealth& p = planes_[plane];
  if (p.heard_ev == p.followed_ev) return;
  p.followed_ev = p.heard_ev;
  for (const EvIndex ev : names_.namesakes(p.heard_ev)) {
    if (health_[ev].plane != plane || health_[ev].state != EvState::kGood) continue;
    p.reverse = ev;
    return;
  }
}

std::optional<EvIndex> PeerPaths::draw_ev(PlaneId plane, bool bad_too, bool idle_only) {
  scratch_.clear();
  for (const EvIndex i : health_.ids()) {
    const EvHealth& h = health_[i];
    if (h.plane != plane || (idle_only && h.probing)) continue;
    if (h.state == EvState::kGood || (bad_too && (!idle_only || h.state != EvState::kDenied))) scratch_.push_back(i);
  }
  if (scratch_.empty()) return std::nullopt;
  return scratch_[rng_->below(static_cast<uint32_t>(scratch_.size()))];
}

void PeerPaths::on_delivered(EvIndex ev, Instant sent_at) {
  EvHealth& h = health_[ev];
  if (sent_at > h.last_delivered_sent) h.last_delivered_sent = sent_at;
  if (h.streak != 0 && sent_at >= h.last_loss_sent) h.streak = 0;
  PlaneHealth& p = planes_[h.plane];
  if (h.state == EvState::kGood) p.reverse = ev;  // [MRC-EVS-9]
  if (sent_at > p.last_delivered_sent) p.last_delivered_sent = sent_at;
  if (p.streak != 0 && sent_at >= p.last_loss_sent) p.streak = 0;
}

// [MRC-CHOICE-Q19]
void PeerPaths::on_lost(Instant now, EvIndex ev, Instant sent_at) {
  EvHealth& h = health_[ev];
  ++h.losses;
  PlaneHealth& p = planes_[h.plane];
  if (sent_at > h.last_delivered_sent && sent_at > h.last_loss_sent) {
    h.last_loss_sent = sent_at;
    if (++h.streak >= kEvStreak) assume_bad(now, ev, TraceTrigger::kLosses);
  }
  if (sent_at > p.last_delivered_sent && sent_at > p.last_loss_sent) {
    p.last_loss_sent = sent_at;
    if (++p.streak >= kPlaneStreak) suspend_plane(now, h.plane, TraceTrigger::kLosses);
  }
}

void PeerPaths::on_timeout(Instant now, EvIndex ev) {
  ++health_[ev].losses;
  assume_bad(now, ev, TraceTrigger::kTimedOut);
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
bool PeerPaths::at_floor() const {
  uint32_t good = 0, nominal = 0;
  for (const EvHealth& h : health_) good += h.active && h.state == EvState::kGood && plane_usable(h.plane);
  for (const PlaneId p : planes_.ids()) nominal += plane_usable(p) ? planes_[p].nominal_active : 0;
  return good <= (config_.ev_min_active != 0 ? config_.ev_min_active : std::max(1u, nominal / 4));
}

bool PeerPaths::assume_bad(Instant now, EvIndex ev, TraceTrigger why) {
  EvHealth& h = health_[ev];
  if (h.state != EvState::kGood) return false;
  if (h.active && plane_usable(h.plane) && at_floor()) return false;
  const bool was_active = h.active;
  h.active = false;
  h.streak = 0;
  ++listeners_.counters.ev_assumed_bad;
  set_state(now, ev, EvState::kAssumedBad, why);
  if (was_active) activate_backup(h.plane);
  schedule_probe(now, ev, config_.ev_probe_interval / 8);
  return true;
}

void PeerPaths::activate_backup(PlaneId plane) {
  for (EvHealth& h : health_) {
    if (h.plane != plane || h.active || h.state != EvState::kGood) continue;
    h.active = true;
    return;
  }
}

void PeerPaths::recover(Instant now, EvIndex ev, TraceTrigger why) {
  EvHealth& h = health_[ev];
  h.streak = h.unanswered = 0;
  h.next_probe = Instant::never();
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

Duration PeerPaths::probe_patience(EvIndex ev) const {
  const Duration usual = config_.ev_probe_interval * (int64_t{1} << std::min(health_[ev].unanswered, kProbeDoublings));
  return std::min(std::max(usual, answer_time_ * 2), config_.ev_probe_interval * kMaxPatience);
}

// One path of a plane works again: the others are probed within an interval.
void PeerPaths::expedite_probes(Instant now, PlaneId plane) {
  for (const EvIndex i : health_.ids()) {
    EvHealth& h = health_[i];
    if (h.plane != plane || h.state != EvState::kAssumedBad) continue;
    h.unanswered = 0;
    if (h.next_probe > now + config_.ev_probe_interval) schedule_probe(now, i, config_.ev_probe_interval / 8);
  }
}

void PeerPaths::schedule_probe(Instant now, EvIndex ev, Duration wait) {
  const auto spread = static_cast<uint64_t>(std::max(wait, config_.ev_probe_interval).ns() / 4 + 1);
  health_[ev].next_probe = now + wait + Duration::nanoseconds(static_cast<int64_t>(rng_->next() % spread));
}

Instant PeerPaths::next_probe_time() const {
  Instant next = Instant::never();
  for (const EvHealth& h : health_)
    if (h.state == EvState::kAssumedBad && !h.probing && h.next_probe < next) next = h.next_probe;
  for (const PlaneHealth& p : planes_) {
    if (inbound_.any && p.next_check < next) next = p.next_check;
  }
  return std::min(next, claims_.next_time());
}

std::optional<EvIndex> PeerPaths::take_due_probe(Instant now) {
  if (!claims_.expire(now).empty()) refresh_usable();
  if (const std::optional<EvIndex> claimed = take_claim_probe(now)) return claimed;
  for (const EvIndex i : health_.ids()) {
    EvHealth& h = health_[i];
    if (h.state != EvState::kAssumedBad || h.probing || h.next_probe > now) continue;
    if (!use_.locally_up(h.plane) || !use_.present(h.plane)) {  // a local port that is down carries no probe
      schedule_probe(now, i, config_.ev_probe_interval);
      continue;
    }
    h.probing = true;
    return i;
  }
  if (!inbound_.any) return std::nullopt;
  // Reverse paths: an endpoint that only receives learns from its own probes which planes carry its SACKs. One check
  // per plane and interval, then the next inbound packet starts another round. Any path of the plane is probed; when
  // that one was silent, the reverse EV itself, which distinguishes a failed path from a failed plane.
  bool waiting = false;
  for (const PlaneId plane : planes_.ids()) {
    PlaneHealth& p = planes_[plane];
    if (p.next_check > now) {
      waiting |= p.next_check < Instant::never();
      continue;
    }
    p.next_check = Instant::never();
    if (!p.reverse || health_[*p.reverse].state != EvState::kGood) continue;
    const bool in_doubt = p.silent_check > p.last_delivered_sent;
    p.checked = in_doubt ? p.reverse : draw_ev(plane, false);
    if (health_[*p.checked].probing) continue;
    health_[*p.checked].probing = true;
    return p.checked;
  }
  inbound_.any = waiting;
  return std::nullopt;
}

// Verification of the peer's port reports. A port that is down may also have recovered without a report: the process
// that would have sent it has ended, or its two updates overtook each other. [MRC-PORT-3..4]
std::optional<EvIndex> PeerPaths::take_claim_probe(Instant now) {
  while (const std::optional<PlaneId> plane = claims_.take_due(now)) {
    std::optional<EvIndex> drawn;
    if (use_.locally_up(*plane) && use_.present(*plane)) {
      drawn = draw_ev(*plane, false, true);
      if (!drawn) drawn = draw_ev(*plane, true, true);
    }
    if (!drawn) {
      claims_.on_unsent(*plane);
      continue;
    }
    health_[*drawn].probing = true;
    return drawn;
  }
  return std::nullopt;
}

void PeerPaths::forget_probes() {
  for (EvHealth& h : health_) h.probing = false;
}

// [MRC-CHOICE-Q20]
void PeerPaths::on_probe_answer(Instant now, EvIndex ev, Instant sent_at, bool overdue) {
  EvHealth& h = health_[ev];
  if (!overdue) h.probing = false;
  const Duration took = now - sent_at;
  answer_time_ = took > answer_time_ ? took : answer_time_ - (answer_time_ - took) / 8;
  on_delivered(ev, sent_at);
  on_rtt(ev, took);
  if (const PortClaims::Proof proof = claims_.on_answer(now, h.plane, sent_at); proof != PortClaims::Proof::kNone) {
    listeners_.counters.port_status_refuted += proof == PortClaims::Proof::kRefuted;
    refresh_usable();
    expedite_probes(now, h.plane);
    trace_plane(now, h.plane, true, TraceTrigger::kProbeAnswered);
  }
  const bool outdated = overdue && sent_at < h.last_loss_sent;
  if (h.state == EvState::kAssumedBad && !outdated) recover(now, ev, TraceTrigger::kProbeAnswered);
}

void PeerPaths::on_probe_lost(Instant now, EvIndex ev, Instant sent_at) {
  EvHealth& h = health_[ev];
  h.probing = false;
  if (h.state == EvState::kAssumedBad) {
    if (h.unanswered < kProbeDoublings) ++h.unanswered;
    schedule_probe(now, ev, probe_patience(ev));
    return;
  }
  if (!remotely_up(h.plane)) return;  // as the peer has reported
  // Two silent checks in a row retire the plane: a receiver has no other evidence, and another EV of a failed
  // plane would lose its SACKs for two checks more. [MRC-EVS-9]
  PlaneHealth& p = planes_[h.plane];
  const bool silent = p.checked == ev && sent_at > p.last_delivered_sent;
  const bool again = silent && sent_at > p.silent_check && p.silent_check > p.last_delivered_sent;
  if (silent) p.silent_check = sent_at;
  on_lost(now, ev, sent_at);
  if (again) suspend_plane(now, h.plane, TraceTrigger::kSilence);
}

void PeerPaths::on_probe_unsent(Instant now, EvIndex ev) {
  health_[ev].probing = false;
  claims_.on_unsent(health_[ev].plane);
  if (health_[ev].state == EvState::kAssumedBad) schedule_probe(now, ev, probe_patience(ev));
}

// [MRC-CHOICE-Q21]
void PeerPaths::set_denied(Instant now, EvIndex ev, bool denied) {
  EvHealth& h = health_[ev];
  if (denied == (h.state == EvState::kDenied)) return;
  if (denied) {
    const bool was_good_active = h.state == EvState::kGood && h.active;
    h.active = false;
    h.next_probe = Instant::never();
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
// it; the EVs recorded for a plane are its own.
void PeerPaths::check() const {
  if constexpr (!kCheckInvariants) return;
  claims_.check();
  use_.check(claims_.down());
  MRC_INVARIANT(answer_time_ >= Duration());
  if (!pace_.due(health_.size())) return;
  std::array<uint32_t, PlaneSet::kMaxPlanes> active{};  // a check must not allocate
  for (const EvHealth& h : health_) {
    MRC_INVARIANT(!h.active || h.state == EvState::kGood);
    MRC_INVARIANT(h.unanswered <= kProbeDoublings && h.losses_told <= h.losses);
    MRC_INVARIANT(h.state != EvState::kAssumedBad || h.next_probe < Instant::never());
    active[h.plane.value()] += h.active;
  }
  for (const PlaneId i : planes_.ids()) {
    const PlaneHealth& p = planes_[i];
    MRC_INVARIANT(active[i.value()] <= p.nominal_active);
    MRC_INVARIANT(!p.reverse || health_[*p.reverse].plane == i);
    MRC_INVARIANT(!p.checked || health_[*p.checked].plane == i);
  }
}

}  // namespace mrc::core
