#include "core/port_claims.h"

#include <algorithm>

namespace mrc::core {

bool PortClaims::on_report(Instant now, PlaneSet up, PlaneSet probeable) {
  bool accepted = true;
  for (const PlaneId plane : planes_.ids()) {
    Plane& p = planes_[plane];
    const bool is_up = up.contains(plane);
    if (!(claimed_ | down_).contains(plane) && !is_up) {
      if (!probeable.contains(plane)) {
        leave(now, plane);
      } else if (now < p.hold_until) {
        accepted = false;
        continue;
      } else {
        claimed_.insert(plane);
        p.claimed_at = now;
        p.probes_left = kProbes;
        p.probes_sent = 0;
      }
    } else if (down_.contains(plane) && is_up) {
      p.next_probe = std::min(p.next_probe, std::max(now, p.probed_at + probe_interval_ / 8));
    }
    p.reported_up = is_up;
  }
  return accepted;
}

void PortClaims::leave(Instant now, PlaneId plane) {
  Plane& p = planes_[plane];
  claimed_.erase(plane);
  down_.insert(plane);
  p.probes_left = p.refuted = 0;
  p.next_probe = p.reported_up ? now : now + probe_interval_;
}

std::optional<PlaneId> PortClaims::take_due(Instant now) {
  for (const PlaneId i : planes_.ids()) {
    Plane& p = planes_[i];
    if (p.probes_left > 0) {
      --p.probes_left;
      ++p.probes_sent;
      return i;
    }
    if (!down_.contains(i) || p.next_probe > now) continue;
    p.next_probe = now + probe_interval_;
    p.probed_at = now;
    return i;
  }
  return std::nullopt;
}

void PortClaims::on_unsent(PlaneId plane) {
  if (claimed_.contains(plane) && planes_[plane].probes_sent > 0) --planes_[plane].probes_sent;
}

PlaneSet PortClaims::expire(Instant now) {
  PlaneSet left;
  for (const PlaneId plane : planes_.ids()) {
    if (!claimed_.contains(plane) || planes_[plane].claimed_at + kProbeTimeout > now) continue;
    if (planes_[plane].probes_sent == 0) {  // no probe was sent: no proof
      claimed_.erase(plane);
      continue;
    }
    leave(now, plane);
    left.insert(plane);
  }
  return left;
}

PortClaims::Proof PortClaims::on_answer(Instant now, PlaneId plane, Instant sent_at) {
  Plane& p = planes_[plane];
  if (!(claimed_ | down_).contains(plane) || sent_at < p.claimed_at) return Proof::kNone;
  claimed_.erase(plane);
  down_.erase(plane);
  p.next_probe = Instant::never();
  p.probes_left = 0;
  if (sent_at >= p.claimed_at + kProbeTimeout) return Proof::kRestored;
  p.hold_until = now + kFirstHold * (int64_t{1} << std::min(p.refuted, kMaxHoldDoublings));
  if (p.refuted < kMaxHoldDoublings) ++p.refuted;
  return Proof::kRefuted;
}

Instant PortClaims::next_time() const {
  Instant next = Instant::never();
  for (const PlaneId plane : planes_.ids()) {
    const Plane& p = planes_[plane];
    if (claimed_.contains(plane)) next = std::min(next, p.claimed_at + kProbeTimeout);
    if (down_.contains(plane)) next = std::min(next, p.next_probe);
  }
  return next;
}

void PortClaims::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(!claimed_.intersects(down_));
  for (const PlaneId plane : planes_.ids()) {
    const Plane& p = planes_[plane];
    const bool claimed = claimed_.contains(plane), down = down_.contains(plane);
    MRC_INVARIANT(p.refuted <= kMaxHoldDoublings && p.probes_left + p.probes_sent <= kProbes);
    MRC_INVARIANT(claimed || p.probes_left == 0);
    MRC_INVARIANT(down == (p.next_probe < Instant::never()));  // it is probed some time
  }
}

}  // namespace mrc::core
