#include "core/probe_schedule.h"

#include <utility>

#include "invariant.h"

namespace mrc::core {

Instant ProbeSchedule::next_time() const {
  Instant next = first_.next_time();
  for (const Instant lossy : lossy_) next = std::min(next, lossy);
  for (const Probe& p : evs_)
    if (!p.outstanding) next = std::min(next, p.next);
  if (checking_)
    for (const Check& c : checks_) next = std::min(next, c.next);
  return next;
}

std::optional<EvIndex> ProbeSchedule::take_retired(Instant now) {
  for (const EvIndex i : evs_.ids()) {
    const Probe& p = evs_[i];
    if (!p.retired() || p.outstanding || p.next > now) continue;
    const PlaneId plane = health_.plane_of(i);
    if (use_.locally_up(plane) && use_.present(plane)) return take(i);
    schedule(now, i, config_.ev_probe_interval);  // a local port that is down carries no probe
  }
  return std::nullopt;
}

// [MRC-EVS-15]
std::optional<EvIndex> ProbeSchedule::take_first(Instant now) {
  while (const std::optional<LinkIndex> link = first_.take(now)) {
    for (const EvIndex ev : links_.evs(*link)) {
      const bool usable = health_.state(ev) == EvState::kGood && use_.usable(health_.plane_of(ev));
      if (usable && !outstanding(ev)) return take(ev);
    }
  }
  return std::nullopt;
}

// An endpoint that only receives learns from its own probes which planes carry its SACKs. One check per plane and
// interval, then the next inbound packet starts another round. Any path of the plane is probed; when that one was
// silent, the reverse EV itself, which distinguishes a failed path from a failed plane.
std::optional<EvIndex> ProbeSchedule::take_check(Instant now) {
  if (!checking_) return std::nullopt;
  bool waiting = false;
  for (const PlaneId plane : checks_.ids()) {
    Check& c = checks_[plane];
    if (c.next > now) {
      waiting |= c.next < Instant::never();
      continue;
    }
    c.next = Instant::never();
    const std::optional<EvIndex> reverse = chooser_.reverse(plane);
    if (!reverse || !health_.good(*reverse)) continue;
    const bool still_silent = c.silent > health_.last_delivered_sent(plane);
    c.ev = still_silent ? reverse : chooser_.draw_good(plane);
    if (!outstanding(*c.ev)) return take(*c.ev);
  }
  checking_ = waiting;
  return std::nullopt;
}

// [MRC-EVS-20]
std::optional<EvIndex> ProbeSchedule::take_lossy(Instant now) {
  for (const PlaneId plane : use_.lossy()) {
    if (lossy_[plane] > now) continue;
    on_lossy(now, plane);
    if (!use_.with_lossy().contains(plane) || !chooser_.draw_good(plane)) {  // most of that ends with expedite()
      lossy_[plane] = now + config_.ev_probe_interval * kMaxTimeoutIntervals;
      continue;
    }
    const std::optional<EvIndex> ev = draw_unprobed(PlaneSet{plane});
    if (!ev) continue;
    needs_witness_ = true;
    return take(*ev);
  }
  return std::nullopt;
}

// The silence of a probe counts only where the peer answers something else. Without traffic that is left to chance, and
// then the fewer probes a plane delivers, the fewer silent ones would count. [MRC-EVS-17] [MRC-EVS-20]
std::optional<EvIndex> ProbeSchedule::take_witness(Instant now) {
  if (!std::exchange(needs_witness_, false) || health_.peer_ran_since(now - config_.ev_probe_interval / 2))
    return std::nullopt;
  const std::optional<EvIndex> ev = draw_unprobed(use_.usable());
  return ev ? take(*ev) : std::nullopt;
}

std::optional<EvIndex> ProbeSchedule::draw_unprobed(PlaneSet planes) const {
  return chooser_.draw_ev(planes, [&](EvIndex i) { return !outstanding(i) && health_.good(i); });
}

std::optional<EvIndex> ProbeSchedule::take_any(PlaneId plane) {
  std::optional<EvIndex> ev = draw_unprobed(PlaneSet{plane});
  if (!ev) {
    ev = chooser_.draw_ev(PlaneSet{plane},
                          [&](EvIndex i) { return !outstanding(i) && health_.state(i) != EvState::kDenied; });
  }
  return ev ? take(*ev) : std::nullopt;
}

void ProbeSchedule::on_restored(Instant now, EvIndex ev) {
  const PlaneId plane = health_.plane_of(ev);
  evs_[ev].unanswered = 0;
  evs_[ev].next = Instant::never();
  checks_[plane].silent = kLongAgo;
  expedite(now, plane);
}

void ProbeSchedule::expedite(Instant now, PlaneId plane) {
  if (use_.lossy().contains(plane)) lossy_[plane] = std::min(lossy_[plane], now + config_.ev_probe_interval / 2);
  for (const EvIndex i : evs_.ids()) {
    Probe& p = evs_[i];
    if (!p.retired() || health_.plane_of(i) != plane) continue;
    p.unanswered = 0;
    if (p.next > now + config_.ev_probe_interval) schedule(now, i, config_.ev_probe_interval / 8);
  }
}

void ProbeSchedule::schedule(Instant now, EvIndex ev, Duration wait) {
  const auto spread = static_cast<uint64_t>(std::max(wait, config_.ev_probe_interval).ns() / 4 + 1);
  evs_[ev].next = now + wait + Duration::nanoseconds(static_cast<int64_t>(rng_->next() % spread));
}

// Each link has its verdict one and a quarter intervals later. The wait at the beginning is for connections that are
// used at once: they need no probes.
void ProbeSchedule::begin_first(Instant now) {
  if (first_.begun() || links_.count() == 0 || config_.oblivious) return;
  const auto links = static_cast<uint32_t>(links_.count());
  const Duration eighth = config_.ev_probe_interval / 8;
  first_.begin(now + eighth, links, rng_->below(links), eighth);
}

bool ProbeSchedule::on_silent_check(EvIndex ev, Instant sent_at) {
  Check& c = checks_[health_.plane_of(ev)];
  const Instant delivered = health_.last_delivered_sent(health_.plane_of(ev));
  if (c.ev != ev || sent_at <= std::max(delivered, c.silent)) return false;
  if (c.silent <= delivered) c.in_a_row = 0;
  if (c.in_a_row == 0) c.first = sent_at;
  c.silent = sent_at;
  if (c.in_a_row < kSilentChecksOfOneInUse) ++c.in_a_row;
  return c.in_a_row >= (c.requested_at >= c.first ? kSilentChecksOfOneInUse : kSilentChecks);
}

Duration ProbeSchedule::timeout(EvIndex ev) const {
  const Duration usual = config_.ev_probe_interval * (int64_t{1} << std::min(evs_[ev].unanswered, kDoublings));
  return std::min(std::max(usual, answer_time_ * 2), config_.ev_probe_interval * kMaxTimeoutIntervals);
}

void ProbeSchedule::on_lost(Instant now, EvIndex ev) {
  Probe& p = evs_[ev];
  p.outstanding = false;
  if (!p.retired()) return;
  if (p.unanswered < kDoublings) ++p.unanswered;
  schedule(now, ev, timeout(ev));
}

void ProbeSchedule::on_unsent(Instant now, EvIndex ev) {
  evs_[ev].outstanding = false;
  if (evs_[ev].retired()) schedule(now, ev, timeout(ev));
}

// Retired EVs, lossy planes and no others are probed again and again; the EVs recorded for a plane are its own.
void ProbeSchedule::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(answer_time_ >= Duration());
  for (const EvIndex i : evs_.ids()) {
    MRC_INVARIANT(evs_[i].unanswered <= kDoublings);
    MRC_INVARIANT(evs_[i].retired() == (health_.state(i) == EvState::kAssumedBad));
  }
  first_.check();
  for (const PlaneId i : lossy_.ids()) MRC_INVARIANT((lossy_[i] < Instant::never()) == use_.lossy().contains(i));
  for (const PlaneId i : checks_.ids()) MRC_INVARIANT(!checks_[i].ev || health_.plane_of(*checks_[i].ev) == i);
}

}  // namespace mrc::core
