// LossDetector: detects the lost packets of a QP by send times, as RFC 8985 (RACK) does, for packets
// that overtake each other on hundreds of paths [MRC-LOSS-1, MRC-CHOICE-Q17]. Sans-IO; no allocation after start().
//
// Order holds within a plane, not between planes: a plane ends in one queue of the receiver, which may read the queues
// of several planes one after the other, milliseconds apart. So there are two rules.
//
// 1. Overtaken. A packet is lost when another one, sent at least a reordering window later on the same plane, has
//    arrived. It is also lost, although no packet was sent that much later, when a later one of its plane has arrived
//    and a round trip and the window have passed. The window is the lateness of packets among those of all planes, up
//    to a round trip: one plane alone has too few samples of it. Lateness is measured by a SACK that names the late
//    packet itself: a packet reported by another packet's SACK may have been in time, and its own SACK was lost.
// 2. Silence. Of a plane of which nothing sent later has arrived, while other planes deliver, a packet is lost after
//    two round trips, the window, four variations and a margin. This time begins anew with each answer that took longer
//    than that: a host that did not run for a while, this one or the peer's, works off the queues of its planes one
//    after the other, and the first answers say nothing about the others. It has a limit.
#pragma once

#include <algorithm>

#include "base/planes.h"
#include "base/time.h"
#include "core/recent_max.h"
#include "core/rtt_estimator.h"
#include "core/sent_packets.h"

namespace mrc::core {

class LossDetector {
 public:
  // Forgets everything. Throws std::bad_alloc, and changes nothing then.
  void start(size_t planes) {
    PerPlane<Plane> fresh(planes);
    *this = LossDetector();
    planes_.swap(fresh);
  }

  // A packet or a probe that was sent at `sent_at` on that plane has arrived, for certain.
  void on_delivered(Instant now, Instant sent_at, PlaneId plane) {
    Plane& p = planes_[plane];
    p.newest = std::max(p.newest, sent_at);
    if (arrivals_.known() && now - sent_at > patience(arrivals_.smoothed(), arrivals_)) resumed_ = now;
    if (sent_at <= newest_) return;
    newest_ = sent_at;
    newest_rtt_ = now - sent_at;
  }

  // A packet has arrived after this time; also one that had been retransmitted by then. Without those of the slow paths
  // the bound of the window would shrink when it is too narrow already.
  void on_round_trip(Duration rtt) { arrivals_.on_sample(rtt); }

  // Lateness of a packet whose arrival becomes known now: the newest packet that has arrived was sent that much later.
  Duration lateness(Instant sent_at) const { return newest_ > sent_at ? newest_ - sent_at : Duration(); }
  void on_late(Instant now, Duration lateness, const RttEstimator& rtt) {
    begin_epoch(now, rtt);
    late_.add(lateness);
  }

  // At least `floor`; half more than the maximum lateness of packets in this epoch and the last one, at most the mean
  // round trip of what arrives and four times its variation, as a retransmission timeout of RFC 6298 is: between paths
  // of unequal queues a packet may be later than the mean. In the first epoch, when little is known, a round trip. A
  // quarter more and twice the variation retransmitted 0.4 % of the packets needlessly where deep queues are full
  // (reproduction 6 of sim/RESULTS.md; with these, 0.16 %). A window for each plane follows too few samples: of 128
  // paths on 8 planes, a tenth of whose links is dead, it retransmitted 63 packets needlessly, and one of the lateness
  // within planes 18, where this one does none.
  Duration window(Instant now, const RttEstimator& rtt, Duration floor) {
    if (!rtt.known()) return std::max(kUnknown, floor);
    begin_epoch(now, rtt);
    const Duration late = late_.max();
    const Duration most = std::max(rtt.smoothed(), arrivals_.smoothed() + arrivals_.variation() * 4);
    const Duration needed = std::min(late + late / 2, most);
    return std::max({floor, needed, epochs_ < 2 ? rtt.smoothed() : Duration()});
  }

  // The time at which a packet sent at `sent_at` counts as lost without an answer. never(): no later one has
  // arrived. If only time indicates the loss, twice the variation of the round trip is added: the answer may be
  // late, too. Silence of a plane is weaker evidence, and waits for longer. `ran_since`: this host did not run
  // immediately before that time, so that answers which arrived meanwhile may be queued.
  Instant lost_at(Instant sent_at, const RttEstimator& rtt, Duration window, PlaneId plane, Instant ran_since) const {
    if (sent_at > newest_) return Instant::never();
    const Plane& p = planes_[plane];
    if (sent_at + window <= p.newest) return newest_;
    const Duration round = std::max(newest_rtt_, rtt.smoothed());
    const Instant since = std::max(sent_at, ran_since);
    if (sent_at <= p.newest) {
      const Duration late = round + window + rtt.variation() * 2;
      return std::min(since + late, sent_at + std::max(late, kMaxSilence));
    }
    const Duration silence = window + patience(round, rtt);
    return std::min(std::max(since, resumed_) + silence, sent_at + std::max(silence, kMaxSilence));
  }

  // Calls on_lost(seq) for the packets of `sent` that are lost now, the oldest first; on_lost() may mark them as lost.
  // `evs[ev].plane` is the plane of an EV. Returns the time of the next loss if nothing arrives until then.
  template <typename Evs, typename OnLost>
  Instant detect(Instant now, const SentPackets& sent, const RttEstimator& rtt, Duration floor, Instant ran_since,
                 const Evs& evs, const OnLost& on_lost) {
    const Duration reordering = window(now, rtt, floor);
    Instant next = Instant::never();
    for (uint64_t s = sent.una(); s < sent.highest_acked(); ++s) {
      const TxRecord& r = sent[s];
      if (r.acked || r.lost) continue;
      const PlaneId plane = evs[r.ev].plane;
      const Instant at = lost_at(r.sent_at, rtt, reordering, plane, ran_since);
      if (at <= now) {
        on_lost(s);
      } else {
        next = std::min(next, at);
      }
    }
    return next;
  }

  void check() const { arrivals_.check(); }

  static constexpr int64_t kEpoch = 16;  // round trips
  static constexpr Duration kUnknown = Duration::milliseconds(1);
  static constexpr Duration kSilenceMargin = Duration::microseconds(200);
  static constexpr Duration kMaxSilence = Duration::milliseconds(40);

 private:
  struct Plane {
    Instant newest = Instant::from_ns(INT64_MIN / 4);  // send time of the newest packet that has arrived
  };

  // Time within which a plane that works answers.
  static Duration patience(Duration round, const RttEstimator& rtt) {
    return round * 2 + rtt.variation() * 4 + kSilenceMargin;
  }
  void begin_epoch(Instant now, const RttEstimator& rtt) {
    if (now < next_epoch_ || !rtt.known()) return;
    if (epochs_ < 2) ++epochs_;
    next_epoch_ = now + rtt.smoothed() * kEpoch;
    late_.begin();
  }

  RttEstimator arrivals_;
  Instant newest_ = Instant::from_ns(INT64_MIN / 4);
  Duration newest_rtt_;
  Instant resumed_ = Instant::from_ns(INT64_MIN / 4);  // when the last answer came that took so long
  Instant next_epoch_ = Instant::from_ns(INT64_MIN / 4);
  RecentMax late_;      // lateness of packets
  uint8_t epochs_ = 0;  // begun, up to two
  PerPlane<Plane> planes_;
};

}  // namespace mrc::core
