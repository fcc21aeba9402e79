// LossDetector: detects the lost packets of a QP by send times, as RFC 8985 (RACK) does, for packets
// that overtake each other on hundreds of paths [MRC-LOSS-1, MRC-CHOICE-Q17]. Sans-IO; no allocation after start().
//
// Order holds within a plane, not between planes: a plane ends in one queue of the receiver, which may read the queues
// of several planes one after the other, milliseconds apart. So there are two rules.
//
// 1. Overtaken. A packet is lost when another one, sent at least a reordering window later on the same plane, has
//    arrived; half to one window after that, where hosts read planes in turn, since SACKs come over all planes and
//    overtake each other, but do not wait in the queues of data: at most the host's delay. It is also lost,
//    although no packet was sent that much later, when the window has passed since a later one of its plane arrived;
//    where hardware answers, at once and of all planes, since a round trip after it was sent, if that is sooner.
//    The window is the lateness of packets among those of all planes, up to a round trip: one plane alone has too few
//    samples of it. Lateness is measured by a SACK that names the late packet itself: a packet reported by another
//    packet's SACK may have been in time, and its own SACK was lost.
// 2. Silence. Of a plane of which nothing sent later has arrived, while other planes deliver, a packet is lost after
//    two round trips, of the QP or of the plane, the window, four variations and the host's delay, if anything arrives
//    after that time: when all planes are silent, it is the peer that does not run. This time begins anew with each
//    answer that took longer than that, and with the first one after such a silence of all planes: a host that did not
//    run for a while, this one or the peer's, works off the queues of its planes one after the other, and the first
//    answers say nothing about the others. It has a limit, in which a long silence of all planes does not count. It
//    begins anew, too, with each packet of any QP that the plane delivers, until that is one that was sent later: a
//    plane with a long queue of its own is slow, not silent. Then it is twice what the packet had waited by that time,
//    if that is longer: a queue that moves in steps. That needs no limit: there are only so many packets before it.
//
// Nothing is lost before all that has arrived was read, which the owner's timers wait for, though not for ever.
#pragma once

#include <algorithm>

#include "base/planes.h"
#include "base/time.h"
#include "core/plane_evidence.h"
#include "core/recent_max.h"
#include "core/rtt_estimator.h"
#include "core/sent_packets.h"

namespace mrc::core {

// When a packet was sent; those of one plane that were sent together arrive in the order of their numbers.
struct Sending {
  Instant at = kLongAgo;
  uint64_t seq = 0;
  bool before(const Sending& o) const { return at < o.at || (at == o.at && seq < o.seq); }
};

// What the owner knows of its host.
struct OwnHost {
  Instant ran_since;      // it did not run immediately before: answers of that time may still be queued
  bool has_read = false;  // all that had arrived, or has tried for long enough
};

class LossDetector {
 public:
  // Forgets everything. Throws std::bad_alloc, and changes nothing then. `host_delay`: EndpointConfig.
  void start(size_t planes, Duration host_delay) {
    PerPlane<Plane> fresh(planes);
    *this = LossDetector();
    host_delay_ = host_delay;
    planes_.swap(fresh);
  }

  // A packet or a probe that was sent so on that plane has arrived, for certain. `usual`: round trip of the plane until
  // now, zero if unknown. `asked_before`: something that was sent earlier may be unanswered, so that the time since the
  // last arrival may be a pause of the peer's.
  void on_delivered(Instant now, Sending sending, PlaneId plane, Duration usual, const RttEstimator& rtt,
                    bool asked_before) {
    const Instant sent_at = sending.at;
    if (rtt.known()) {
      if (asked_before && last_arrival_ < now && now - last_arrival_ > answer_timeout(rtt.smoothed(), rtt))
        on_silence({last_arrival_, now});
      if (now - sent_at > answer_timeout(std::max(rtt.smoothed(), usual), rtt)) resumed_ = now;
    }
    last_arrival_ = now;
    Plane& p = planes_[plane];
    if (p.newest.before(sending)) {
      p.newest = sending;
      p.arrived_at = now;
    }
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
    const Duration max = std::max(rtt.smoothed(), arrivals_.smoothed() + arrivals_.variation() * 4);
    const Duration needed = std::min(late + late / 2, max);
    return std::max({floor, needed, epochs_ < 2 ? rtt.smoothed() : Duration()});
  }

  // True: one sent that much later on its plane has arrived.
  bool overtaken(Instant sent_at, Duration window, PlaneId plane) const {
    return sent_at + window <= planes_[plane].newest.at;
  }
  // The time at which a packet counts as lost without an answer; a past one: it is lost. never(): no later one has
  // arrived, or there is no sign yet that the peer runs. If only time indicates the loss, twice the variation of the
  // round trip is added: the answer may be late, too. Silence of a plane is weaker evidence, and waits for longer.
  Instant lost_at(Sending sending, const RttEstimator& rtt, Duration window, PlaneId plane,
                  const PlaneEvidence& evidence, Instant ran_since) const {
    const Instant sent_at = sending.at;
    if (sent_at > newest_) return Instant::never();
    const Plane& p = planes_[plane];
    if (overtaken(sent_at, window, plane)) return sent_at + window <= p.settled ? p.arrived_at : p.settles_at;
    const Duration round = std::max({newest_rtt_, rtt.smoothed(), evidence.round_trip});
    const Instant limited_from = without_silence(sent_at);
    if (sending.before(p.newest)) {
      const Duration late = window + rtt.variation() * 2;
      const Instant due = host_delay_ == Duration() ? std::min(p.arrived_at, sent_at + round) : p.arrived_at;
      return std::min(std::max(due, ran_since) + late, limited_from + std::max(round + late, kMaxSilence));
    }
    const Duration silence = window + answer_timeout(round, rtt);
    const Instant limited =
        std::min(std::max({sent_at, ran_since, resumed_}) + silence, limited_from + std::max(silence, kMaxSilence));
    const Duration waited = std::max(evidence.delivered_at - sent_at, Duration());
    const Instant at = std::max(limited, evidence.delivered_at + std::max(silence, waited * 2));
    return at <= last_arrival_ ? at : Instant::never();
  }

  // Calls on_lost(seq) for the packets of `sent` that are lost now, the oldest first; on_lost() may mark them as lost.
  // `paths`: plane_of(ev), and evidence(plane, sent_at), the PlaneEvidence for a packet that was sent then. Returns the
  // time at which to call it again if nothing arrives until then.
  template <typename Paths, typename OnLost>
  Instant detect(Instant now, const SentPackets& sent, const RttEstimator& rtt, Duration floor, const OwnHost& host,
                 const Paths& paths, const OnLost& on_lost) {
    const Duration reordering = window(now, rtt, floor);
    for (Plane& p : planes_) p.advance_settled(now, std::min(reordering / 2, host_delay_));
    Instant next = Instant::never();
    const uint64_t end = sent.highest_acked();
    for (uint64_t s = sent.next_in_flight(sent.una(), end); s < end; s = sent.next_in_flight(s + 1, end)) {
      const TxRecord& r = sent[s];
      const PlaneId plane = paths.plane_of(r.ev);
      const Instant at =
          lost_at({r.sent_at, s}, rtt, reordering, plane, paths.evidence(plane, r.sent_at), host.ran_since);
      if (at <= now && host.has_read) {
        on_lost(s);
      } else {
        next = std::min(next, at);
      }
    }
    return next;
  }

  // Nothing has arrived after that time.
  bool silent_since(Instant time) const { return last_arrival_ >= Instant::never() || last_arrival_ <= time; }
  // Since when something that was sent at that time can be unanswered for its path's sake: not before the last answer
  // that came so late that the time of rule 2 begins anew, but at most `max` later, a long silence of all planes left
  // out; and not while its plane delivers what was sent before it.
  Instant unanswered_since(Instant sent_at, Duration max, const PlaneEvidence& evidence) const {
    return std::max({sent_at, std::min(resumed_, without_silence(sent_at) + max), evidence.delivered_at});
  }

  void check() const { arrivals_.check(); }

  static constexpr int64_t kEpoch = 16;  // round trips
  static constexpr Duration kUnknown = Duration::milliseconds(1);
  static constexpr Duration kMaxSilence = Duration::milliseconds(40);
  static constexpr Duration kSilenceSpacing = Duration::milliseconds(10);

 private:
  struct Plane {
    // Once per `pause`: `settled` becomes what was the newest a `pause` before.
    void advance_settled(Instant now, Duration pause) {
      if (now < settles_at) return;
      settled = settling;
      settling = newest.at;
      settles_at = now + pause;
    }
    Sending newest;  // of what has arrived
    Instant arrived_at;
    Instant settled = kLongAgo, settling = kLongAgo;
    Instant settles_at;
  };

  // A time in which nothing of any plane has arrived although something was asked.
  struct Silence {
    Instant begin = kLongAgo, end = kLongAgo;
    Duration length() const { return end - begin; }
  };

  // It may also be a time in which nothing was sent, so it counts only once in a while, or traffic with pauses of that
  // length would never find a loss. Of two within the limit of rule 2 the longer one is left out of it: a peer that
  // runs again is interrupted again.
  void on_silence(Silence found) {
    if (found.end - counted_silence_ > kSilenceSpacing) resumed_ = counted_silence_ = found.end;
    if (found.end - silence_.end > kMaxSilence || found.length() > silence_.length()) silence_ = found;
  }
  // That time, later by as much of the silence as came after it.
  Instant without_silence(Instant time) const {
    return time < silence_.end ? time + (silence_.end - std::max(time, silence_.begin)) : time;
  }
  // Time within which a plane that works answers.
  Duration answer_timeout(Duration round, const RttEstimator& rtt) const {
    return round * 2 + rtt.variation() * 4 + host_delay_;
  }
  void begin_epoch(Instant now, const RttEstimator& rtt) {
    if (now < next_epoch_ || !rtt.known()) return;
    if (epochs_ < 2) ++epochs_;
    next_epoch_ = now + rtt.smoothed() * kEpoch;
    late_.begin();
  }

  Duration host_delay_;
  RttEstimator arrivals_;
  Instant newest_ = kLongAgo;
  Duration newest_rtt_;
  Instant last_arrival_ = Instant::never();
  Silence silence_;                     // of all planes: the longest lately
  Instant counted_silence_ = kLongAgo;  // the end of the last one after which time begins anew
  Instant resumed_ = kLongAgo;          // when time began anew: then, or when an answer came that took so long
  Instant next_epoch_ = kLongAgo;
  RecentMax late_;      // lateness of packets
  uint8_t epochs_ = 0;  // begun, up to two
  PerPlane<Plane> planes_;
};

}  // namespace mrc::core
