// EvHealthTable: the health of the EVs towards one peer, of their planes and links, and the active set. It collects
// evidence and states what it is enough for; PeerPaths decides. Sans-IO; no allocation after construction.
//
// Packets carry their send time. A loss counts against an EV only when nothing that was sent on it at or after that
// time has been delivered; two such losses at different send times are enough against it, so that random loss inside a
// burst retires no path. Losses between which its whole plane delivered nothing count as one: the plane was
// interrupted, or the receiver's queue overflowed [MRC-EVS-18]. Of a path that has never delivered one is enough, once
// something sent later on its plane has arrived. The same count per plane, PlaneHealth::kStreak bursts without one
// delivery, is enough against the whole plane: a failed port is abandoned within a round trip instead of EV by EV.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/planes.h"
#include "base/time.h"
#include "core/config.h"
#include "core/ev_health.h"
#include "core/ev_links.h"
#include "core/link_suspicion.h"
#include "core/plane_evidence.h"
#include "core/status.h"

namespace mrc::core {

class EvHealthTable {
 public:
  static constexpr uint8_t kEvStreak = 2, kUnprovenStreak = 1;
  // Until a slow plane is known, each pause of it looks like its end: 64 KiB, which a host may hand over as one, take 5
  // ms at 100 Mb/s. Hardware has no delay.
  static constexpr int64_t kDeadPlaneDelays = 32;
  static constexpr uint8_t kMaxWaits = 128;  // of an EV: the verdict may never come, as of a QP that was destroyed

  EvHealthTable(const EndpointConfig& config, const EvLinks& links);

  // --- what is known ---
  EvRange evs() const { return evs_.ids(); }
  PlaneSet planes() const { return planes_.ids(); }
  size_t plane_count() const { return planes_.size(); }
  PlaneId plane_of(EvIndex ev) const { return evs_[ev].plane; }
  EvState state(EvIndex ev) const { return evs_[ev].state; }
  bool active(EvIndex ev) const { return evs_[ev].active; }
  uint64_t losses(EvIndex ev) const { return evs_[ev].losses; }
  uint8_t streak(EvIndex ev) const { return evs_[ev].streak; }  // losses that count, without a delivery since
  // GOOD, and its link is not suspected.
  bool good(EvIndex ev) const { return evs_[ev].state == EvState::kGood && !links_.suspected(ev); }
  const LinkSuspicion& links() const { return links_; }
  // Smoothed round trip of the packets on a plane, of all QPs; 0 before the first sample and with oblivious spraying.
  Duration plane_rtt(PlaneId plane) const { return planes_[plane].rtt; }
  Instant last_delivered_sent(PlaneId plane) const { return planes_[plane].last_delivered_sent; }
  Instant delivered_at(PlaneId plane) const { return planes_[plane].delivered_at; }  // anything, the last time
  // When the plane is to be retired for its losses, if it delivers nothing until then; never(): it is not [MRC-EVS-5].
  Instant dead_at(PlaneId plane) const {
    const PlaneHealth& p = planes_[plane];
    return p.streak >= PlaneHealth::kStreak ? p.delivered_at + config_.host_delay * kDeadPlaneDelays : Instant::never();
  }
  PlaneEvidence evidence(PlaneId plane, Instant sent_at) const {
    const PlaneHealth& p = planes_[plane];
    return {p.rtt, p.last_delivered_sent <= sent_at ? p.delivered_at : kLongAgo};
  }
  const DeliveredShare& share(PlaneId plane) const { return planes_[plane].share; }
  Instant last_loss_sent(PlaneId plane) const { return planes_[plane].last_loss_sent; }
  Instant last_loss_sent(EvIndex ev) const { return evs_[ev].last_loss_sent; }
  // Something sent at or after that time was delivered, on any plane [MRC-EVS-17].
  bool peer_ran_since(Instant sent_at) const { return newest_sent_ >= sent_at; }
  PerEv<EvStatus> status() const;

  // True: the EV, with all EVs of its link, has never delivered, and what was sent later on its plane has arrived. It
  // gives up this turn, because more packets would probably be lost, too, before the first is judged [MRC-EVS-12..13].
  bool take_wait(EvIndex ev) {
    EvHealth& h = evs_[ev];
    if (config_.oblivious || h.streak > 0 || h.waits == kMaxWaits) return false;
    if (planes_[h.plane].last_delivered_sent <= tested_since(ev)) return false;
    ++h.waits;
    return true;
  }

  // --- evidence ---
  void on_sent(EvIndex ev, uint32_t packets, uint32_t bytes) {
    evs_[ev].tx_packets += packets;
    evs_[ev].tx_bytes += bytes;
  }
  // Packets of a connection were sent on it, which the peer acknowledges.
  void on_data_sent(Instant now, EvIndex ev, uint32_t packets) {
    planes_[evs_[ev].plane].share.on_sent(packets);
    evs_[ev].first_data = std::min(evs_[ev].first_data, now);
    links_.on_sent(now, ev);
  }
  void on_probe_sent(Instant now, EvIndex ev) { links_.on_sent(now, ev); }
  // It delivers now what was sent then, so many packets. True: its link was suspected until now.
  bool on_delivered(Instant now, EvIndex ev, Instant sent_at, uint32_t packets = 1) {
    EvHealth& h = evs_[ev];
    if (sent_at > h.last_delivered_sent) h.last_delivered_sent = sent_at;
    if (h.streak != 0 && sent_at >= h.last_loss_sent) h.streak = 0;
    planes_[h.plane].on_delivered(now, sent_at, packets);
    if (sent_at > newest_sent_) newest_sent_ = sent_at;
    return link_table_.count() != 0 && links_.on_delivered(ev, sent_at);
  }
  void on_rtt(EvIndex ev, Duration rtt) {
    Duration& smoothed = evs_[ev].rtt;
    smoothed = smoothed == Duration() ? rtt : smoothed + (rtt - smoothed) / 8;
  }
  void on_plane_rtt(EvIndex ev, Duration rtt);
  void on_ecn(EvIndex ev) { ++evs_[ev].ecn_marks; }
  // A packet that was sent then on the EV is lost. What there is enough evidence against.
  struct Failed {
    bool ev = false, link = false, plane = false;
  };
  Failed on_lost(EvIndex ev, Instant sent_at);
  // The same for the probe of a plane that is out of use. True: there is enough evidence against the EV.
  bool on_ev_lost(EvIndex ev, Instant sent_at);
  // The same for the probe of a link, while its plane works. True: there is enough evidence against the link.
  bool on_link_probe_lost(EvIndex ev, Instant sent_at) {
    count_loss(ev);
    return links_.on_lost(ev, sent_at, true);
  }
  void count_probe(PlaneId plane, bool answered) { planes_[plane].share.on_probe(answered); }
  void on_loss_refuted(EvIndex ev) { planes_[evs_[ev].plane].share.on_loss_refuted(); }
  void count_loss(EvIndex ev) { ++evs_[ev].losses; }  // it is no evidence

  // --- judgement ---
  bool retire(EvIndex ev);   // ASSUMED_BAD. True: it was active
  bool deny(EvIndex ev);     // DENIED. True: it was active and GOOD
  void restore(EvIndex ev);  // GOOD: nothing is known against it and its link any more
  void activate_backup(PlaneId plane);
  void activate_if_short(EvIndex ev);  // its plane has fewer active ones than configured
  void suspect_link(EvIndex ev) { links_.suspect(ev); }
  // The test of its link shows nothing: the probe will not be answered.
  void forget_link_test(EvIndex ev) {
    if (good(ev) && !links_.proven(ev)) links_.clear(ev);
  }
  void clear_streak(PlaneId plane) { planes_[plane].streak = 0; }
  void retest_share(PlaneId plane) { planes_[plane].share.retest(); }
  // The number of EVs in use on those planes; without those of the link of an EV, if one with a link is given.
  uint32_t in_use(PlaneSet usable, std::optional<EvIndex> without_link_of = std::nullopt) const;
  // Those of the planes that have an EV in use.
  PlaneSet carrying(PlaneSet usable) const;
  // The configured number of active ones on those planes.
  uint32_t nominal_active(PlaneSet usable) const;
  // Losses since the last call.
  uint64_t take_unreported_losses(EvIndex ev) {
    const uint64_t unreported = evs_[ev].losses - evs_[ev].losses_reported;
    evs_[ev].losses_reported = evs_[ev].losses;
    return unreported;
  }
  void check() const;

 private:
  // The link, or of an EV without one the EV itself, carried its first packet then, and there is no verdict yet.
  Instant tested_since(EvIndex ev) const {
    if (link_table_.of(ev)) return links_.tested_since(ev);
    return evs_[ev].unproven() ? evs_[ev].first_data : Instant::never();
  }

  const EndpointConfig& config_;
  const EvLinks& link_table_;
  PerEv<EvHealth> evs_;
  PerPlane<PlaneHealth> planes_;
  LinkSuspicion links_;
  Instant newest_sent_ = kLongAgo;  // of all that was delivered: when the newest was sent
};

}  // namespace mrc::core
