// Probes of paths: when each is due, and the conclusions from answers and silence. [MRC-EVS-8..9, MRC-EVS-15,
// MRC-PORT-3..4]
#include <algorithm>

#include "core/peer_paths.h"

namespace mrc::core {

Duration PeerPaths::probe_patience(EvIndex ev) const {
  const Duration usual = config_.ev_probe_interval * (int64_t{1} << std::min(health_[ev].unanswered, kProbeDoublings));
  return std::min(std::max(usual, answers_.time * 2), config_.ev_probe_interval * kMaxPatience);
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
  return std::min({next, claims_.next_time(), links_.first_probes.next_time()});
}

// Each link has its verdict one and a quarter intervals later. The wait at the beginning is for connections that are
// used at once: they need no probes.
void PeerPaths::begin_first_probes(Instant now) {
  if (links_.first_probes.begun() || links_.table.count() == 0 || config_.oblivious) return;
  const auto links = static_cast<uint32_t>(links_.table.count());
  const Duration eighth = config_.ev_probe_interval / 8;
  links_.first_probes.begin(now + eighth, links, rng_->below(links), eighth);
}

// [MRC-EVS-15]
std::optional<EvIndex> PeerPaths::take_first_probe(Instant now) {
  while (const std::optional<LinkIndex> link = links_.first_probes.take(now)) {
    for (const EvIndex ev : links_.table.evs(*link)) {
      EvHealth& h = health_[ev];
      if (h.state != EvState::kGood || h.probing || !plane_usable(h.plane)) continue;
      h.probing = true;
      links_.suspicion.on_sent(now, ev);
      return ev;
    }
  }
  return std::nullopt;
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
  if (const std::optional<EvIndex> first = take_first_probe(now)) return first;
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
    if (!p.reverse || !good(*p.reverse)) continue;
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

// Its probe shows nothing about a link that is under test.
void PeerPaths::forget_link_test(EvIndex ev) {
  if (good(ev) && !links_.suspicion.proven(ev)) links_.suspicion.clear(ev);
}

void PeerPaths::forget_probes() {
  for (const EvIndex ev : health_.ids()) {
    EvHealth& h = health_[ev];
    if (h.probing) forget_link_test(ev);
    h.probing = false;
  }
}

// [MRC-CHOICE-Q20]
void PeerPaths::on_probe_answer(Instant now, EvIndex ev, Instant sent_at, bool overdue) {
  EvHealth& h = health_[ev];
  if (!overdue) h.probing = false;
  const Duration took = now - sent_at;
  answers_.time = took > answers_.time ? took : answers_.time - (answers_.time - took) / 8;
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
  if (p.checked != ev && links_.first_probes.begun() && links_.table.of(ev) && !links_.suspicion.proven(ev))
    return on_first_probe_lost(now, ev, sent_at);
  // Of a peer that answered something at about that time, or later [MRC-EVS-17].
  if (!peer_ran_since(sent_at - config_.ev_probe_interval / 2)) return;
  const bool silent = p.checked == ev && sent_at > p.last_delivered_sent;
  const bool again = silent && sent_at > p.silent_check && p.silent_check > p.last_delivered_sent;
  if (silent) p.silent_check = sent_at;
  on_lost(now, ev, sent_at);
  if (again && !config_.oblivious) suspend_plane(now, h.plane, TraceTrigger::kSilence);
}

// A link of a plane that works is suspected. Of a plane that does not, while others do, it is as any loss: four of them
// retire the plane. Where nothing was answered, the peer may be far away. [MRC-EVS-15]
void PeerPaths::on_first_probe_lost(Instant now, EvIndex ev, Instant sent_at) {
  const auto works = [&](const PlaneHealth& p) { return p.last_delivered_sent >= links_.first_probes.began(); };
  if (works(planes_[health_[ev].plane])) {
    ++health_[ev].losses;
    if (links_.suspicion.on_lost(ev, sent_at, true)) suspect_link(now, ev, TraceTrigger::kSilence);
  } else if (std::any_of(planes_.begin(), planes_.end(), works)) {
    on_lost(now, ev, sent_at);
  }
}

void PeerPaths::on_probe_unsent(Instant now, EvIndex ev) {
  health_[ev].probing = false;
  forget_link_test(ev);
  claims_.on_unsent(health_[ev].plane);
  if (health_[ev].state == EvState::kAssumedBad) schedule_probe(now, ev, probe_patience(ev));
}

}  // namespace mrc::core
