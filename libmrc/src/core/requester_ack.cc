// What comes back. SACK says which packets have arrived and frees them; the transport ACK says which messages are done
// and completes work requests [MRC-ACK-1]. Both are stale as easily as they are fresh, so everything is compared with
// what was really sent before it counts.
#include <algorithm>

#include "core/control_queue.h"
#include "core/flows.h"
#include "core/path_prober.h"
#include "core/peer.h"
#include "core/requester.h"
#include "core/tx_scheduler.h"

namespace mrc::core {

// Sequence number of a PSN near the window; negative for what lies before the first packet.
int64_t Requester::seq_of(Psn psn) const {
  const Psn una_psn = qp_.attr.sq_psn + static_cast<int32_t>(una_ & Psn::kMask);
  return static_cast<int64_t>(una_) + (psn - una_psn);
}

void Requester::ack_one(Instant now, uint64_t seq) {
  TxRecord& r = (*window_)[seq];
  if (r.acked) return;
  r.acked = true;
  qp_.peer->meter.on_delivered(r.nominal);
  if (r.lost) {
    r.lost = false;
    --lost_count_;
    congestion_->on_lost_packet_acked(r.nominal);
    if (r.sends == 1) ++qp_.engine.counters.spurious_retransmits;
  } else {
    --flight_;
  }
  // Of a packet sent twice nobody knows which copy arrived; an answer sooner than any round trip was to the first.
  const bool original = r.sends > 1 && now - r.sent_at < rtt_.least();
  if (!original) {
    qp_.peer->paths.on_delivered(r.ev, r.sent_at);
    if (r.sends == 1) qp_.peer->paths.on_rtt(r.ev, now - r.sent_at);
    detector_.on_delivered(now, r.sent_at);
  } else {
    ++qp_.engine.counters.spurious_retransmits;
  }
  if (seq >= highest_acked_) highest_acked_ = seq + 1;
}

void Requester::ack_below(Instant now, uint64_t end) {
  if (window_)
    for (uint64_t s = una_; s < end; ++s) ack_one(now, s);
  if (end > una_) una_ = end;
  if (highest_acked_ < una_) highest_acked_ = una_;
}

void Requester::follow_meter() {
  const PathMeter& meter = qp_.peer->meter;
  const CongestionConfig& c = congestion_config();
  meter_generation_ = meter.generation();
  if (meter_generation_ == 0 || !(c.measure_rate || c.measure_rtt)) return;
  congestion_->on_measured(c.measure_rate ? meter.rate_bps() : c.line_rate_bps,
                           c.measure_rtt ? meter.rtt() : Duration());
}

void Requester::advance_una() {
  while (una_ < nxt_ && (*window_)[una_].acked) ++una_;
}

void Requester::trace_window(Instant now, TraceTrigger why, Duration rtt) {
  if (!qp_.engine.trace.on()) return;
  const CongestionSnapshot s = congestion_->snapshot();
  qp_.engine.trace(now, qp_.qpn, TraceEvent::kCwnd, why, static_cast<uint64_t>(s.cwnd),
                   static_cast<uint64_t>(s.inflight), static_cast<uint64_t>(rtt.ns()), s.steps);
}

void Requester::skip_path(Instant now, uint16_t ev, TraceTrigger why) {
  EngineContext& ep = qp_.engine;
  if (ep.config.oblivious || !rotation_.skip(ev)) return;
  ++ep.counters.ev_skips;
  ep.trace(now, qp_.qpn, TraceEvent::kEvState, why, ep.config.evs[ev].value, static_cast<uint64_t>(EvState::kSkip),
           ep.config.evs[ev].plane);
}

// The round trip is taken from our own send record; the reflected timestamp gives the responder's
// ACK delay [MRC-CC-4]. It is certain which copy was answered when the packet was sent once and the answer is not
// flagged, or sent exactly twice and the answer is flagged: a flow whose whole backlog was trimmed has no others
// [MRC-LOSS-6, MRC-CHOICE-Q9].
Requester::Named Requester::read_named(Instant now, const wire::Packet& p, int64_t cack_next) {
  Named named;
  const wire::Seth& s = p.sack.seth;
  if (!window_) return named;
  if (s.pr) {
    if (probe_outstanding_ && s.probe_id == probe_id_) named.ev = probe_ev_;
    return named;
  }
  const int64_t seq = cack_next - 1 + s.ack_psn_offset;
  if (seq < static_cast<int64_t>(window_first_) || seq >= static_cast<int64_t>(nxt_) ||
      seq + window_->size() < static_cast<int64_t>(nxt_))
    return named;
  named.seq = static_cast<uint64_t>(seq);
  const TxRecord& r = (*window_)[named.seq];
  if (r.sends == 1) named.ev = r.ev;  // else the answer's entropy tells which copy it was
  named.known = true;
  if (r.sends > 2 || (r.sends == 2) != p.bth.rtx) return named;
  if (r.sends == 2 && r.acked) return named;  // an answer to a third packet, or to a copy that the network made
  const Duration since = now - r.sent_at;
  const auto sat = static_cast<uint16_t>(p.sack.cc.tx_timestamp - wire::timestamp_of(r.sent_at));
  const Duration residence = Duration::nanoseconds(sat * wire::kTimestampTickNs);
  if (p.sack.cc.tx_timestamp == 0) {
    named.rtt = since;
  } else if (residence < since) {
    named.rtt = since - residence;
  } else if (r.sends == 1) {
    named.rtt = since;
  }
  // Short packets pass links and queues faster [MRC-NSCC-CHOICE-6]. One sent twice must not lower the base for good: a
  // flag may also mean that the responder held the answer to the first copy for long.
  named.measures_path = named.rtt > Duration() && r.sends == 1 && r.nominal >= full_nominal_;
  return named;
}

void Requester::take_sample(Duration rtt) {
  rtt_.on_sample(rtt);
  Duration& recent = qp_.peer->recent_rtt;
  recent = rtt > recent ? recent + (rtt - recent) / 4 : recent - (recent - rtt) / 64;  // quick up, slow down
}

void Requester::on_sack(Instant now, const wire::Packet& p) {
  EngineContext& ep = qp_.engine;
  const wire::Seth& s = p.sack.seth;
  const int64_t cack_next = seq_of(s.cack_psn) + 1;
  if (cack_next < 0 || cack_next > static_cast<int64_t>(nxt_)) {
    ++ep.counters.drop_stale;
    return;
  }
  ep.trace(now, qp_.qpn, TraceEvent::kRxSack, TraceTrigger::kNone, s.cack_psn.value(), s.sack_bitmap,
           (s.cack_psn + s.sack_offset).value(), s.entropy);

  const Named named = read_named(now, p, cack_next);
  if (named.known) note_lateness(now, p, named);

  // What has arrived.
  const uint64_t old_una = una_;
  const auto cack = static_cast<uint64_t>(cack_next);
  if (cack > una_) ack_below(now, cack);
  if (cack > cack_next_) {
    cack_next_ = cack;
    attempts_ = 0;
  }
  if (window_ && s.sack_bitmap != 0) {
    const int64_t base = cack_next - 1 + s.sack_offset;
    for (uint64_t bits = s.sack_bitmap; bits != 0; bits &= bits - 1) {
      const int64_t seq = base + __builtin_ctzll(bits);
      if (seq >= static_cast<int64_t>(una_) && seq < static_cast<int64_t>(nxt_))
        ack_one(now, static_cast<uint64_t>(seq));
    }
    advance_una();
  }
  if (una_ != old_una) {
    probe_backoff_ = 0;
    waiting_since_ = now;
  }

  if (qp_.attr.dynamic_mpr && s.mpr != 0)
    window_psns_ = std::min<uint32_t>(128u * s.mpr, window_ ? window_->size() - 1 : UINT32_MAX);

  const bool marked = s.m == wire::PathVerdict::kSkipOnce;
  AckSample sample;
  sample.rcvd_bytes_24 = p.sack.cc.rcvd_bytes;
  sample.ecn_marked = marked;
  sample.rcv_cwnd_pen = p.sack.cc.rcv_cwnd_pen;
  sample.restore_cwnd = p.sack.cc.restore_cwnd;
  sample.may_lower_base = named.measures_path;
  if (named.rtt > Duration()) {
    sample.rtt = named.rtt;
    take_sample(named.rtt);
  }
  congestion_->on_ack(now, sample);
  PathMeter& meter = qp_.peer->meter;
  if (named.measures_path) meter.on_rtt(named.rtt);
  const CongestionSnapshot window = congestion_->snapshot();
  meter.on_sack(now, nxt_ < sq_.end_seq(), window.cwnd < window.max_wnd);
  if (meter_generation_ != meter.generation()) follow_meter();

  trace_window(now, marked ? TraceTrigger::kMarked : TraceTrigger::kSack, named.rtt);

  // What the answer says of the path.
  const uint16_t named_ev = named.ev != UINT16_MAX ? named.ev : ep.ev_index_of(s.entropy);
  if (named_ev != UINT16_MAX) {
    if (marked) {
      skip_path(now, named_ev, TraceTrigger::kMarked);
      qp_.peer->paths.on_ecn(named_ev);
    } else if (s.m == wire::PathVerdict::kAlwaysSkip) {
      qp_.peer->paths.on_always_skip(now, named_ev);
      qp_.peer->rearm(&ep.timers);
    }
  }
  if (s.pr && probe_outstanding_) take_probe_answer(now, s.probe_id);
  detect_losses(now);
  after_progress(now);
}

// Where answers take longer than the pause between probes, only that to the first of them comes in time: without it a
// peer that is slow would be asked for ever faster than it can answer [MRC-LOSS-2].
void Requester::take_probe_answer(Instant now, uint16_t id) {
  uint16_t ev = probe_ev_;
  Instant sent_at = probe_sent_at_;
  if (id == probe_id_) {
    probe_outstanding_ = false;
  } else if (id == first_probe_.id) {
    ev = first_probe_.ev;
    sent_at = first_probe_.sent_at;
    first_probe_ = {probe_id_, probe_ev_, probe_sent_at_};
    Duration& recent = qp_.peer->recent_rtt;
    recent = std::max(recent, recent + (now - sent_at - recent) / 4);
  } else {
    return;
  }
  // The peer lives and has everything: it holds the work for reasons of its own. While packets are missing an
  // answered probe says only that small ones pass.
  if (una_ == nxt_) attempts_ = 0;
  qp_.peer->paths.on_delivered(ev, sent_at);
  detector_.on_delivered(now, sent_at);
  if (una_ < nxt_) suspect_path_mtu(now);
  // Everything sent before the probe has either been reported by now or is not coming.
  highest_acked_ = std::max(highest_acked_, nxt_);
}

void Requester::on_transport_ack(Instant now, const wire::Packet& p) {
  EngineContext& ep = qp_.engine;
  const int64_t seq = seq_of(p.bth.psn);
  const uint8_t syndrome = p.aeth.syndrome;
  ep.trace(now, qp_.qpn, TraceEvent::kRxAck, TraceTrigger::kNone, p.bth.psn.value(), syndrome);
  if (seq >= static_cast<int64_t>(nxt_) || seq < -1) {
    ++ep.counters.drop_stale;
    return;
  }
  if (wire::is_ack_syndrome(syndrome)) {
    const auto end = static_cast<uint64_t>(seq + 1);
    if (end > una_) {
      ack_below(now, end);
      waiting_since_ = now;
    }
    if (end > cack_next_) {
      cack_next_ = end;
      attempts_ = 0;
    }
    complete_below(now, end);
    if (cq_overrun_) {  // a completion is lost, and with it the order that the application relies on [MRC-ACK-5]
      qp_.fail(now, WcStatus::kFlushed, AsyncEvent::kQpFatal);
      return;
    }
    after_progress(now);
    return;
  }
  // The responder doubts a packet of work that is complete here already [MRC-SEC-3].
  if (syndrome == wire::kSyndromeRemoteOperation && seq >= 0 && seq + window_psns_ >= static_cast<int64_t>(nxt_) &&
      (sq_.empty() || static_cast<uint64_t>(seq) < sq_.front().first_seq)) {
    qp_.fail(now, WcStatus::kRemoteOperation, AsyncEvent::kQpFatal);
    return;
  }
  if (!wire::is_nak_syndrome(syndrome) || seq < 0 || sq_.empty() ||
      static_cast<uint64_t>(seq) < sq_.front().first_seq) {
    ++ep.counters.drop_stale;
    return;
  }
  // Everything before the fault is done; the request at fault gets the reason, the rest is flushed [MRC-ACK-4].
  uint64_t hint = hint_;
  const uint64_t fault = sq_.find(static_cast<uint64_t>(seq), &hint).first_seq;
  complete_below(now, fault);
  WcStatus status = WcStatus::kRemoteOperation;
  if (syndrome == wire::kSyndromeInvalidRequest) status = WcStatus::kRemoteInvalidRequest;
  if (syndrome == wire::kSyndromeRemoteAccess) status = WcStatus::kRemoteAccess;
  qp_.fail(now, status, AsyncEvent::kQpFatal);
}

void Requester::on_nack(Instant now, const wire::Packet& p) {
  EngineContext& ep = qp_.engine;
  const int64_t seq = seq_of(p.neth.nack_psn);
  const wire::NackReason reason = p.neth.reason;
  ep.trace(now, qp_.qpn, TraceEvent::kRxNack, TraceTrigger::kNone, p.neth.nack_psn.value(),
           static_cast<uint64_t>(reason), p.neth.entropy);
  if (reason == wire::NackReason::kUnexpEvent) {
    if (sq_.empty() || seq < static_cast<int64_t>(sq_.front().first_seq) || seq >= static_cast<int64_t>(nxt_)) {
      ++ep.counters.drop_stale;
      return;
    }
    qp_.fail(now, WcStatus::kRemoteOperation, AsyncEvent::kQpFatal);
    return;
  }
  if (!window_ || seq < static_cast<int64_t>(una_) || seq >= static_cast<int64_t>(nxt_)) {
    ++ep.counters.drop_stale;
    return;
  }
  const auto s = static_cast<uint64_t>(seq);
  TxRecord& r = (*window_)[s];
  const bool trimmed = reason == wire::NackReason::kTrimmed || reason == wire::NackReason::kTrimmedLastHop;
  if (r.acked || r.lost) return;  // known already
  NackSample sample;
  sample.nominal = r.nominal;
  sample.trimmed = trimmed;
  if (r.sends == 1 && trimmed) sample.rtt = now - r.sent_at;
  sample.may_lower_base = false;  // what was trimmed passed the queues as a short packet
  r.lost = true;
  r.lost_by = trimmed ? TraceTrigger::kTrimmed : TraceTrigger::kRejected;
  --flight_;
  ++lost_count_;
  lost_hint_ = std::min(lost_hint_, s);
  congestion_->on_nack(now, sample);
  trace_window(now, r.lost_by, sample.rtt.value_or(Duration()));
  ++ep.plane_counters[qp_.peer->paths.plane_of(r.ev)].losses;
  if (reason == wire::NackReason::kTrimmed) skip_path(now, r.ev, TraceTrigger::kTrimmed);
  // Trimming proves that the path carries packets.
  if (trimmed) qp_.peer->paths.on_delivered(r.ev, r.sent_at);
  after_progress(now);
}

void Requester::after_progress(Instant now) {
  if (window_ && una_ == nxt_ && lost_count_ == 0 && sq_.empty()) qp_.engine.windows.give(std::move(window_));
  arm_rto(now);
  arm_probe(now);
  qp_.set_deadline(QpHalf::kRequester, deadline());
  if (may_send()) qp_.services.scheduler.make_ready(&qp_);
}

}  // namespace mrc::core
