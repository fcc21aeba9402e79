// RetransmissionTimer: when the unanswered packets of a QP are retransmitted, and what the expiry of that time means
// for its retry budget [MRC-LOSS-3..5]. Sans-IO.
//
// Each charge of the budget is an interval without progress, in one of three ways. Packets have expired: those that
// were sent at different times expire one by one, so together they are one interval. The oldest packet is stuck: it has
// been sent again, by inference or NACK, and the interval has passed all the same, as where something lets small
// packets pass and not this one; or it could not be sent again, as no path is left. Or the peer is silent: nothing is
// in flight, yet work is not acknowledged and the last probe has had its time, as of a peer that died after its SACK.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "core/loss_detector.h"
#include "core/probe_timer.h"
#include "core/retry_budget.h"
#include "core/sent_packets.h"
#include "core/types.h"

namespace mrc::core {

class RetransmissionTimer {
 public:
  // --- the time ---
  Instant deadline() const { return deadline_; }
  // The interval of the current attempt. Never below what a round trip takes now, queues included: repeating a packet
  // that is only waiting makes them longer.
  Duration interval(const QpAttr& attr, Duration rtt) const { return budget_.interval(attr, rtt * 4); }
  bool armed() const { return deadline_ < Instant::never(); }
  void arm(Instant now, Duration interval) { deadline_ = now + interval; }
  void cancel() { deadline_ = Instant::never(); }
  void postpone(Instant to) { deadline_ = to; }
  // After an expiry; `next`: Expired. An interval later at the latest, for the budget.
  void restart(Instant now, Instant next, Duration interval) { deadline_ = std::min(next, now + interval); }

  // --- expiry ---
  struct Expired {
    bool any = false;
    Instant next = Instant::never();  // when the next of the others does
  };
  // Calls on_expired(seq), which counts it as lost, for each packet in flight that has been unanswered for the
  // interval, and for four round trips of its plane. `paths`: as LossDetector::detect(). While the peer is silent the
  // oldest alone expires: the peer may merely not run, and then everything has arrived.
  template <typename Paths, typename OnExpired>
  static Expired expire(Instant now, Duration interval, bool peer_is_silent, const LossDetector& detector,
                        const Paths& paths, SentPackets* sent, const OnExpired& on_expired) {
    Expired expired;
    const bool oldest_alone = peer_is_silent && !sent->all_arrived();
    if (oldest_alone && (*sent)[sent->una()].lost) {  // it could not be retransmitted yet
      sent->on_lost_timed_out(sent->una());
      expired.any = true;
    }
    const uint64_t end = oldest_alone ? sent->una() + 1 : sent->nxt();
    for (uint64_t s = sent->next_in_flight(sent->una(), end); s < end; s = sent->next_in_flight(s + 1, end)) {
      const TxRecord& r = (*sent)[s];
      const PlaneEvidence evidence = paths.evidence(paths.plane_of(r.ev), r.sent_at);
      const Duration timeout = std::max(interval, evidence.round_trip * 4);
      const Instant due = detector.unanswered_since(r.sent_at, timeout, evidence) + timeout;
      if (due > now) {
        expired.next = std::min(expired.next, due);
        continue;
      }
      on_expired(s);
      expired.any = true;
    }
    return expired;
  }

  struct Verdict {
    bool silent = false;  // the peer is to be asked
    bool stuck = false;   // the oldest packet
    bool spent = false;   // the budget: the QP fails
  };
  // After expire(), which returned `any`. Each charge for silence follows a query of its own.
  Verdict judge(Instant now, Duration interval, bool any, const SentPackets& sent, const ProbeTimer& probe,
                const QpAttr& attr) {
    Verdict verdict;
    verdict.silent = !any && sent.in_flight() == 0 && sent.lost() == 0 && sent.nxt() > 0 &&  // [MRC-LOSS-4]
                     probe.unanswered_for(now, interval);
    verdict.stuck = !any && !sent.all_arrived() && (sent[sent.una()].sends > 1 || sent.in_flight() == 0) &&
                    budget_.waited(now, interval);  // [MRC-LOSS-5]
    const bool waited = (any || verdict.stuck) && budget_.waited(now, interval);
    if (waited) budget_.begin_wait(now);
    verdict.spent = (waited || verdict.silent) && !budget_.charge(attr);
    return verdict;
  }

  // --- progress ---
  void on_new_oldest(Instant now) { budget_.begin_wait(now); }  // packet
  void on_progress() { budget_.restore(); }
  uint32_t attempts() const { return budget_.attempts(); }  // since the last progress
  void check(bool ended) const { budget_.check(ended); }

 private:
  Instant deadline_ = Instant::never();
  RetryBudget budget_;
};

}  // namespace mrc::core
