#include "core/ev_health_table.h"

#include <array>

#include "invariant.h"

namespace mrc::core {

EvHealthTable::EvHealthTable(const EndpointConfig& config, const EvLinks& links)
    : config_(config), link_table_(links), evs_(config.evs.size()), planes_(config.planes.size()), links_(links) {
  const size_t active =
      config.ev_active == 0 ? config.evs.size() : std::min<size_t>(config.ev_active, config.evs.size());
  for (const EvIndex i : evs_.ids()) {
    evs_[i].plane = config.evs[i].plane;
    evs_[i].active = i.value() < active;
    if (evs_[i].active) ++planes_[evs_[i].plane].nominal_active;
  }
}

PerEv<EvStatus> EvHealthTable::status() const {
  PerEv<EvStatus> all(evs_.size());
  for (const EvIndex i : evs_.ids()) {
    const EvHealth& h = evs_[i];
    all[i] = {config_.evs[i].value, h.plane, h.active, h.state, h.tx_packets, h.losses, h.ecn_marks, h.tx_bytes, h.rtt};
  }
  return all;
}

// Planes without a sample get the first one of another plane: 0 would look like a plane without queues.
void EvHealthTable::on_plane_rtt(EvIndex ev, Duration rtt) {
  if (config_.oblivious) return;
  constexpr Duration kMaxRtt = Duration::milliseconds(4000);
  rtt = std::min(rtt, kMaxRtt);
  Duration& smoothed = planes_[evs_[ev].plane].rtt;
  if (smoothed == Duration()) {
    for (PlaneHealth& p : planes_)
      if (p.rtt == Duration()) p.rtt = rtt;
  }
  smoothed = smoothed + (rtt - smoothed) / 8;
}

// [MRC-CHOICE-Q19]
EvHealthTable::Failed EvHealthTable::on_lost(EvIndex ev, Instant sent_at) {
  Failed failed;
  failed.ev = on_ev_lost(ev, sent_at);
  if (config_.oblivious) return {};
  PlaneHealth& p = planes_[evs_[ev].plane];
  failed.link = links_.on_lost(ev, sent_at, p.last_delivered_sent > sent_at);
  failed.plane = p.on_lost(sent_at);
  return failed;
}

bool EvHealthTable::on_ev_lost(EvIndex ev, Instant sent_at) {
  EvHealth& h = evs_[ev];
  ++h.losses;
  if (config_.oblivious || sent_at <= h.last_delivered_sent || sent_at <= h.last_loss_sent) return false;
  const PlaneHealth& p = planes_[h.plane];
  const bool again = h.streak == 0 || !p.in_gap(h.last_loss_sent, sent_at);
  h.last_loss_sent = sent_at;
  // That what was sent later has arrived tells a dead path from a peer that is further away than was assumed.
  const bool unproven = h.unproven() && !links_.proven(ev) && p.last_delivered_sent > sent_at;
  if (again && h.streak < UINT8_MAX) ++h.streak;  // it may not be retired
  return h.streak >= (unproven ? kUnprovenStreak : kEvStreak);
}

bool EvHealthTable::retire(EvIndex ev) {
  EvHealth& h = evs_[ev];
  const bool was_active = h.active;
  h.active = false;
  h.streak = 0;
  h.state = EvState::kAssumedBad;
  return was_active;
}

bool EvHealthTable::deny(EvIndex ev) {
  EvHealth& h = evs_[ev];
  const bool was_good_active = h.state == EvState::kGood && h.active;
  h.active = false;
  links_.clear(ev);  // it may have been the one that is probed for it
  h.state = EvState::kDenied;
  return was_good_active;
}

void EvHealthTable::restore(EvIndex ev) {
  EvHealth& h = evs_[ev];
  h.streak = h.waits = 0;
  h.first_data = Instant::never();
  links_.clear(ev);
  h.state = EvState::kGood;
}

void EvHealthTable::activate_backup(PlaneId plane) {
  for (const EvIndex i : evs_.ids()) {
    EvHealth& h = evs_[i];
    if (h.plane != plane || h.active || !good(i)) continue;
    h.active = true;
    return;
  }
}

void EvHealthTable::activate_if_short(EvIndex ev) {
  const PlaneId plane = evs_[ev].plane;
  uint32_t active = 0;
  for (const EvHealth& other : evs_) active += other.plane == plane && other.active;
  if (active < planes_[plane].nominal_active) evs_[ev].active = true;
}

uint32_t EvHealthTable::in_use(PlaneSet usable, std::optional<EvIndex> without_link_of) const {
  const std::optional<LinkIndex> without = without_link_of ? link_table_.of(*without_link_of) : std::nullopt;
  uint32_t count = 0;
  for (const EvIndex i : evs_.ids()) {
    if (!evs_[i].active || !good(i) || !usable.contains(evs_[i].plane)) continue;
    count += !without || link_table_.of(i) != without;
  }
  return count;
}

PlaneSet EvHealthTable::carrying(PlaneSet usable) const {
  PlaneSet carrying;
  for (const EvIndex i : evs_.ids())
    if (evs_[i].active && good(i)) carrying.insert(evs_[i].plane);
  return carrying & usable;
}

uint32_t EvHealthTable::nominal_active(PlaneSet usable) const {
  uint32_t nominal = 0;
  for (const PlaneId p : planes_.ids() & usable) nominal += planes_[p].nominal_active;
  return nominal;
}

// Only GOOD EVs are active, and no more of a plane than the configuration has; a suspected link is probed by way of a
// bad EV.
void EvHealthTable::check() const {
  if constexpr (!kCheckInvariants) return;
  std::array<uint32_t, PlaneSet::kMaxPlanes> active{};  // a check must not allocate
  for (const EvHealth& h : evs_) {
    MRC_INVARIANT(!h.active || h.state == EvState::kGood);
    MRC_INVARIANT(h.losses_reported <= h.losses && h.waits <= kMaxWaits);
    active[h.plane.value()] += h.active;
  }
  for (const PlaneId i : planes_.ids()) MRC_INVARIANT(active[i.value()] <= planes_[i].nominal_active);
  links_.check();
  for (size_t i = 0; i < link_table_.count(); ++i) {
    const absl::Span<const EvIndex> evs = link_table_.evs(LinkIndex(static_cast<uint16_t>(i)));
    MRC_INVARIANT(!links_.suspected(evs.front()) || std::any_of(evs.begin(), evs.end(), [&](EvIndex ev) {
      return evs_[ev].state == EvState::kAssumedBad;
    }));
  }
}

}  // namespace mrc::core
