// Loss recovery, fit for packets that overtake each other on hundreds of paths.
//
// 1. Inference by time. LossDetector judges by send times, with a window that follows measured lateness; counting
//    packets would take a burst that used a slow plane for a loss [MRC-LOSS-1, MRC-CHOICE-Q17].
// 2. Probes. When nothing has been heard for a while, a reliability probe on another EV asks for the full state; with
//    its answer, rule 1 judges everything sent before it. Tails are repaired so, not by the timeout [MRC-LOSS-2].
// 3. Timeout. A packet older than the QP's timeout is sent again, its EV is retired, and the retry budget is charged:
//    first the linear attempts at a fixed interval, then doubling ones [MRC-LOSS-3].
// 4. Budget. It is also charged for each interval without an answer [MRC-LOSS-4] and for each interval in which the
//    oldest packet did not get through although it was repeated [MRC-LOSS-5].
// NACKs are handled with the other answers in requester_ack.cc.
#include <algorithm>

#include "core/control_queue.h"
#include "core/flows.h"
#include "core/path_prober.h"
#include "core/peer.h"
#include "core/requester.h"
#include "core/tx_scheduler.h"

namespace mrc::core {

namespace {
constexpr uint8_t kRetryForever = 25;
constexpr Duration kProbeCap = Duration::milliseconds(32);
}  // namespace

// How late was the packet that a SACK names? Only that is lateness for certain: what becomes known from another
// packet's SACK may have arrived in time, and its own SACK was lost.
void Requester::note_lateness(Instant now, const wire::Packet& p, const Named& named) {
  const TxRecord& r = (*window_)[named.seq];
  if (named.seq >= una_ && !r.acked && r.sends == 1 && named.rtt > Duration()) {
    detector_.on_round_trip(named.rtt);
    detector_.on_late(now, detector_.lateness(r.sent_at), rtt_);
    return;
  }
  if (r.sends < 2 || p.bth.rtx) return;
  // The answer is to the first copy, and the packet has been sent again: needlessly. That copy's own send time counts,
  // not the reflected timestamp, which returns every 8 ms. Its path carries packets after all.
  ++qp_.engine.counters.spurious_retransmits;
  const Instant first = r.first_sent_at();
  detector_.on_round_trip(now - first);
  detector_.on_late(now, detector_.lateness(first), rtt_);
  const uint16_t ev = qp_.engine.ev_index_of(p.sack.seth.entropy);
  if (ev != UINT16_MAX) qp_.peer->paths.on_delivered(ev, first);
}

void Requester::mark_lost(Instant now, uint64_t seq, LossCause cause) {
  TxRecord& r = (*window_)[seq];
  r.lost = true;
  r.lost_by = cause == LossCause::kTimedOut ? TraceTrigger::kTimedOut : TraceTrigger::kOvertaken;
  --flight_;
  ++lost_count_;
  lost_hint_ = std::min(lost_hint_, seq);
  congestion_->on_loss(now, r.nominal, cause);
  ++qp_.engine.plane_counters[qp_.peer->paths.plane_of(r.ev)].losses;
}

// `event` is kLost or kTimeout; call it after the packet was marked.
void Requester::trace_lost(Instant now, TraceEvent event, TraceTrigger why, uint64_t seq) {
  const TxRecord& r = (*window_)[seq];
  const EvEntry& ev = qp_.engine.config.evs[r.ev];
  const uint32_t psn = (qp_.attr.sq_psn + static_cast<int32_t>(seq & Psn::kMask)).value();
  const auto age = static_cast<uint64_t>((now - r.sent_at).ns());
  if (event == TraceEvent::kTimeout) {
    qp_.engine.trace(now, qp_.qpn, event, why, psn, attempts_, ev.value, age);
  } else {
    qp_.engine.trace(now, qp_.qpn, event, why, psn, ev.value, ev.plane, age);
  }
}

void Requester::detect_losses(Instant now) {
  lost_deadline_ = Instant::never();
  if (!window_ || una_ >= highest_acked_) return;
  const Duration window = detector_.window(now, rtt_, qp_.engine.config.reorder_floor);
  const uint64_t end = std::min(highest_acked_, nxt_);
  bool any = false;
  for (uint64_t s = una_; s < end; ++s) {
    const TxRecord& r = (*window_)[s];
    if (r.acked || r.lost) continue;
    const Instant at = detector_.lost_at(r.sent_at, rtt_, window);
    if (at > now) {
      lost_deadline_ = std::min(lost_deadline_, at);
      continue;
    }
    mark_lost(now, s, LossCause::kOvertaken);
    ++qp_.engine.counters.fast_retransmits;
    qp_.peer->paths.on_lost(now, r.ev, r.sent_at);
    trace_lost(now, TraceEvent::kLost, TraceTrigger::kOvertaken, s);
    any = true;
  }
  if (any) {
    trace_window(now, TraceTrigger::kOvertaken, Duration());
    qp_.peer->rearm(&qp_.engine.timers);
    qp_.services.scheduler.make_ready(&qp_);
  }
}

Duration Requester::rto_interval() const {
  const uint32_t linear = qp_.attr.retry_linear;
  const uint32_t doublings = attempts_ > linear ? std::min<uint32_t>(attempts_ - linear, 24) : 0;
  const uint32_t exponent = std::min<uint32_t>(qp_.attr.timeout + doublings, 24);
  // Never below what a round trip takes now, queues included: repeating a packet that is only waiting makes them
  // longer.
  return std::max(Duration::nanoseconds(1024ll << exponent), std::max(rtt_.smoothed(), qp_.peer->recent_rtt) * 4);
}

// [MRC-CHOICE-Q18]
bool Requester::charge_retry() {
  ++attempts_;
  const uint32_t budget = static_cast<uint32_t>(qp_.attr.retry_linear) + qp_.attr.retry_exp;
  if (qp_.attr.retry_exp >= kRetryForever || attempts_ <= budget) return true;
  return false;
}

void Requester::arm_rto(Instant now) {
  if (!outstanding()) {
    rto_deadline_ = Instant::never();
  } else if (rto_deadline_ >= Instant::never()) {
    rto_deadline_ = now + rto_interval();
  }
}

void Requester::handle_rto(Instant now) {
  rto_deadline_ = Instant::never();
  if (!outstanding()) return;
  const Duration interval = rto_interval();
  Instant oldest = Instant::never();
  bool any = false;
  for (uint64_t s = una_; window_ && s < nxt_; ++s) {
    const TxRecord& r = (*window_)[s];
    if (r.acked || r.lost) continue;
    if (r.sent_at + interval > now) {
      oldest = std::min(oldest, r.sent_at);
      continue;
    }
    mark_lost(now, s, LossCause::kTimedOut);
    ++qp_.engine.counters.timeouts;
    ++timeouts;
    qp_.peer->paths.on_timeout(now, r.ev);
    trace_lost(now, TraceEvent::kTimeout, TraceTrigger::kTimedOut, s);
    any = true;
  }
  // Nothing in flight, yet work is not acknowledged and the last probe has had its time: a peer that died after its
  // SACK is found out so. Each charge follows a question of its own [MRC-LOSS-4].
  const bool silent =
      !any && flight_ == 0 && lost_count_ == 0 && nxt_ > 0 && probe_outstanding_ && probe_sent_at_ + interval <= now;
  // The oldest packet has been sent again and again, by inference or NACK, and the interval has passed all the same:
  // something lets small packets pass and not this one. Or it could not be sent again, as no path is left.
  const bool stuck =
      !any && una_ < nxt_ && ((*window_)[una_].sends > 1 || flight_ == 0) && waiting_since_ + interval <= now;
  if (any || stuck) waiting_since_ = now;
  if (any) {
    trace_window(now, TraceTrigger::kTimedOut, Duration());
    qp_.peer->rearm(&qp_.engine.timers);
  }
  if ((any || silent || stuck) && !charge_retry()) {
    qp_.fail(now, WcStatus::kRetryExceeded, AsyncEvent::kQpFatal);
    return;
  }
  if (any || stuck) suspect_path_mtu(now);
  if (qp_.state != QpState::kRts) return;
  if (silent) send_probe(now, TraceTrigger::kStandstill);
  rto_deadline_ = (oldest < Instant::never() ? oldest : now) + rto_interval();
  if (rto_deadline_ <= now) rto_deadline_ = now + rto_interval();
  if (lost_count_ > 0) qp_.services.scheduler.make_ready(&qp_);
}

namespace {
constexpr uint8_t kSuspectSends = 3;  // of the oldest packet
}

bool Requester::stuck_above(uint32_t path_mtu) const {
  if (una_ >= nxt_ || !window_) return false;
  return (*window_)[una_].nominal >
         wire::nominal_size(wire::packet_bytes(wire::Opcode::kWriteLastImm, qp_.engine.config.timestamps, path_mtu));
}

// The oldest packet has been sent again and again and does not get through. If it is a large one, its size may be the
// reason; not if a switch trimmed it, for that passes on what it would have sent on whole [MRC-MTU-1].
void Requester::suspect_path_mtu(Instant now) {
  if (!stuck_above(PathMtu::kSmallest)) return;
  const TxRecord& oldest = (*window_)[una_];
  if (oldest.sends < kSuspectSends || oldest.lost_by == TraceTrigger::kTrimmed) return;
  qp_.services.prober.suspect_path_mtu(now, qp_.peer, qp_.peer->paths.plane_of(oldest.ev), qp_.attr.path_mtu);
}

// Armed while anything is unanswered, re-armed by every send and every answer.
void Requester::arm_probe(Instant now) {
  if (nxt_ == 0 || (una_ == nxt_ && (sq_.empty() || sq_.front().first_seq >= nxt_))) {
    probe_deadline_ = Instant::never();
    return;
  }
  const Duration usual = std::max(rtt_.smoothed(), qp_.peer->recent_rtt) * 6 / 5;
  Duration wait = std::max(qp_.engine.config.probe_floor, usual);
  for (uint32_t i = 0; i < probe_backoff_ && wait < kProbeCap; ++i) wait = wait * 2;
  probe_deadline_ = now + std::min(wait, std::max(kProbeCap, usual * 2));
}

Duration Requester::probe_patience() const {
  return std::max(rtt_.smoothed() * 2 + rtt_.variation() * 4, qp_.peer->recent_rtt * 2);
}

void Requester::send_probe(Instant now, TraceTrigger why) {
  EngineContext& ep = qp_.engine;
  if (probe_backoff_ < 16) ++probe_backoff_;
  uint16_t ev;
  if (rotation_.next(&qp_.peer->paths, UINT32_MAX, &ev, qp_.attr.evs.get())) {
    const auto id = static_cast<uint16_t>(probe_id_ + 1);
    wire::Bth bth;
    bth.opcode = wire::Opcode::kProbe;
    bth.dqp = qp_.attr.dest_qpn;
    bth.pkey = qp_.attr.pkey;
    wire::Peth peth;
    peth.probe_id = id;
    peth.spdcid = static_cast<uint16_t>(qp_.qpn);
    peth.dpdcid = static_cast<uint16_t>(qp_.attr.dest_qpn);
    peth.timestamp.tx_timestamp = wire::timestamp_of(now);
    wire::Flow flow;
    const uint8_t dscp = ep.config.trimming ? ep.config.dscp.trimmable : ep.config.dscp.no_trim;
    if (make_flow(ep.config, qp_.peer->description, ev, dscp, &flow)) {
      if (!qp_.services.control.push(flow, ev, [&](uint8_t* out) { return wire::encode_probe(out, bth, peth); }))
        return arm_probe(now);  // no silence: nothing has been asked
      ++ep.counters.tx_probes;
      ep.trace(now, qp_.qpn, TraceEvent::kTxProbe, why, id, ep.config.evs[ev].value, ep.config.evs[ev].plane,
               probe_backoff_);
    }
    // A probe that never came back is silence on its path, too. It is sent again before that is certain: its path is
    // blamed only when the answer is later than queues explain.
    if (probe_outstanding_ && now - probe_sent_at_ >= probe_patience())
      qp_.peer->paths.on_lost(now, probe_ev_, probe_sent_at_);
    probe_id_ = id;
    if (!probe_outstanding_) first_probe_ = {probe_id_, ev, now};
    probe_ev_ = ev;
    probe_sent_at_ = now;
    probe_outstanding_ = true;
    qp_.peer->rearm(&ep.timers);
  }
  arm_probe(now);
}

void Requester::on_timer(Instant now) {
  if (rto_deadline_ <= now) handle_rto(now);
  if (qp_.state == QpState::kRts && lost_deadline_ <= now) detect_losses(now);
  if (qp_.state == QpState::kRts && probe_deadline_ <= now) send_probe(now, TraceTrigger::kSilence);
}

}  // namespace mrc::core
