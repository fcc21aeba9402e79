// LossDetector: detects the lost packets of a QP by send times, as RFC 8985 (RACK) does, for packets
// that overtake each other on hundreds of paths [MRC-LOSS-1, MRC-CHOICE-Q17]. Sans-IO; no allocation.
//
// A packet is lost when another one, sent at least a reordering window later, has arrived. It is also lost, although
// no packet was sent that much later, when a later one has arrived and a round trip and the window have passed. The
// window is the lateness of packets, up to a round trip. Lateness is measured by a SACK that names the late packet
// itself: a packet reported by another packet's SACK may have been in time, and its own SACK was lost.
#pragma once

#include <algorithm>

#include "base/time.h"
#include "core/rtt_estimator.h"
#include "core/sent_packets.h"

namespace mrc::core {

class LossDetector {
 public:
  // A packet or a probe that was sent at `sent_at` has arrived, for certain.
  void on_delivered(Instant now, Instant sent_at) {
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
    late_ = std::max(late_, lateness);
  }

  // At least `floor`; half more than the maximum lateness of this epoch and the last one, at most the mean round
  // trip of what arrives and four times its variation, as a retransmission timeout of RFC 6298 is: between planes of
  // unequal queues a packet may be later than the mean. In the first epoch, when little is known, a round trip. A
  // quarter more and twice the variation retransmitted 0.4 % of the packets needlessly where deep queues are full
  // (reproduction 6 of sim/RESULTS.md; with these, 0.16 %).
  Duration window(Instant now, const RttEstimator& rtt, Duration floor) {
    if (!rtt.known()) return std::max(kUnknown, floor);
    begin_epoch(now, rtt);
    const Duration late = std::max(late_, late_before_);
    const Duration most = std::max(rtt.smoothed(), arrivals_.smoothed() + arrivals_.variation() * 4);
    const Duration needed = std::min(late + late / 2, most);
    return std::max({floor, needed, epochs_ < 2 ? rtt.smoothed() : Duration()});
  }

  // The time at which a packet sent at `sent_at` counts as lost without an answer. never(): no later one has
  // arrived. If only time indicates the loss, twice the variation of the round trip is added: the answer may be
  // late, too.
  Instant lost_at(Instant sent_at, const RttEstimator& rtt, Duration window) const {
    if (sent_at > newest_) return Instant::never();
    if (sent_at + window <= newest_) return newest_;
    return sent_at + std::max(newest_rtt_, rtt.smoothed()) + window + rtt.variation() * 2;
  }

  // Calls on_lost(seq) for the packets of `sent` that are lost now, the oldest first; on_lost() may mark them as lost.
  // Returns the time of the next loss if nothing arrives until then. Depends on its arguments and the arrivals so far,
  // and changes nothing.
  template <typename OnLost>
  Instant detect(Instant now, const SentPackets& sent, const RttEstimator& rtt, Duration window,
                 const OnLost& on_lost) const {
    Instant next = Instant::never();
    for (uint64_t s = sent.una(); s < sent.highest_acked(); ++s) {
      const TxRecord& r = sent[s];
      if (r.acked || r.lost) continue;
      const Instant at = lost_at(r.sent_at, rtt, window);
      if (at <= now) {
        on_lost(s);
      } else {
        next = std::min(next, at);
      }
    }
    return next;
  }

  void check() const {
    arrivals_.check();
    MRC_INVARIANT(late_ >= Duration() && late_before_ >= Duration());
  }

  static constexpr int64_t kEpoch = 16;  // round trips
  static constexpr Duration kUnknown = Duration::milliseconds(1);

 private:
  void begin_epoch(Instant now, const RttEstimator& rtt) {
    if (now < next_epoch_ || !rtt.known()) return;
    if (epochs_ < 2) ++epochs_;
    late_before_ = late_;
    late_ = Duration();
    next_epoch_ = now + rtt.smoothed() * kEpoch;
  }

  RttEstimator arrivals_;
  Instant newest_ = Instant::from_ns(INT64_MIN / 4);
  Duration newest_rtt_;
  Instant next_epoch_ = Instant::from_ns(INT64_MIN / 4);
  Duration late_, late_before_;
  uint8_t epochs_ = 0;  // begun, up to two
};

}  // namespace mrc::core
