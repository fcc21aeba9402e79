// Transport ACKs, NAKs and NACKs. The transport ACK reports complete messages and completes work requests [MRC-ACK-1];
// a NAK ends the QP; a NACK refuses one packet, which is retransmitted. All may be stale, so everything is compared
// with the record of sent packets first.
#include "core/peer.h"
#include "core/requester.h"

namespace mrc::core {

void Requester::on_transport_ack(Instant now, const wire::Packet& p) {
  const int64_t seq = seq_of(p.bth.psn);
  const uint8_t syndrome = p.aeth.syndrome;
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kNone, event::RxAck{.psn = p.bth.psn, .syndrome = syndrome});
  if (seq >= static_cast<int64_t>(sent_.nxt()) || seq < -1) {
    ++qp_.engine.counters.drop_stale;
  } else if (wire::is_ack_syndrome(syndrome)) {
    on_ack(now, static_cast<uint64_t>(seq + 1));
  } else {
    on_nak(now, seq, syndrome);
  }
}

// All messages that end below `end` are complete at the peer.
void Requester::on_ack(Instant now, uint64_t end) {
  if (end > sent_.una()) {
    on_arrived_below(now, end);
    rto_.on_new_oldest(now);
  }
  if (packets_.on_cumulative(end)) rto_.on_progress();
  complete_below(now, end);
  if (completions_.undelivered()) {  // and with it the order on which the application relies is lost [MRC-ACK-5]
    qp_.fail(now, WcStatus::kFlushed, AsyncEvent::kQpFatal);
    return;
  }
  if (!fail_unreadable(now)) after_progress(now);
}

void Requester::on_nak(Instant now, int64_t seq, uint8_t syndrome) {
  const bool completed = sq_.empty() || seq < static_cast<int64_t>(sq_.front().first_seq);
  // The responder doubts a packet of work that is complete here already, at most a window before the one that it
  // expects; up to a window more may have been sent when this arrives [MRC-SEC-3].
  if (syndrome == wire::kSyndromeRemoteOperation && seq >= 0 && completed &&
      seq + 2 * packets_.window() >= static_cast<int64_t>(sent_.nxt())) {
    qp_.fail(now, WcStatus::kRemoteOperation, AsyncEvent::kQpFatal);
    return;
  }
  if (!wire::is_nak_syndrome(syndrome) || seq < 0 || completed) {
    ++qp_.engine.counters.drop_stale;
    return;
  }
  // Everything before the fault is complete; the request at fault gets the reason, the rest is flushed [MRC-ACK-4].
  complete_below(now, packets_.request_of(static_cast<uint64_t>(seq)).first_seq);
  WcStatus status = WcStatus::kRemoteOperation;
  if (syndrome == wire::kSyndromeInvalidRequest) status = WcStatus::kRemoteInvalidRequest;
  if (syndrome == wire::kSyndromeRemoteAccess) status = WcStatus::kRemoteAccess;
  qp_.fail(now, status, AsyncEvent::kQpFatal);
}

void Requester::on_nack(Instant now, const wire::Packet& p) {
  const int64_t seq = seq_of(p.neth.nack_psn);
  const wire::NackReason reason = p.neth.reason;
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kNone,
                    event::RxNack{.psn = p.neth.nack_psn, .reason = reason, .ev = p.neth.entropy});
  const bool unexpected = reason == wire::NackReason::kUnexpEvent;
  const bool known = unexpected ? !sq_.empty() && seq >= static_cast<int64_t>(sq_.front().first_seq) &&
                                      seq < static_cast<int64_t>(sent_.nxt())
                                : sent_.outstanding(seq);
  if (!known) {
    ++qp_.engine.counters.drop_stale;
  } else if (unexpected) {
    fail_unacknowledged(now, WcStatus::kRemoteOperation, static_cast<uint64_t>(seq));
  } else {
    on_refused(now, static_cast<uint64_t>(seq), reason);
  }
}

// A packet in flight was trimmed, or refused by the responder: it is to be retransmitted.
void Requester::on_refused(Instant now, uint64_t seq, wire::NackReason reason) {
  const TxRecord& r = sent_[seq];
  const bool trimmed = reason == wire::NackReason::kTrimmed || reason == wire::NackReason::kTrimmedLastHop;
  if (r.acked || r.lost) return;  // known already
  NackSample sample;
  sample.nominal = r.nominal;
  sample.trimmed = trimmed;
  if (r.sends == 1 && trimmed) sample.rtt = now - r.sent_at;
  sample.may_lower_base = false;  // a trimmed packet passed the queues as a short one
  sent_.on_lost(seq, trimmed ? TraceTrigger::kTrimmed : TraceTrigger::kRejected);
  congestion_->on_nack(now, sample);
  trace_window(now, r.lost_by, sample.rtt.value_or(Duration()));
  const PlaneId plane = qp_.peer->paths.plane_of(r.ev);
  rotation_.on_left(plane);
  ++qp_.engine.plane_counters[plane].losses;
  if (reason == wire::NackReason::kTrimmed) skip_path(now, r.ev, seq, TraceTrigger::kTrimmed);
  // Trimming proves that the path carries packets.
  if (trimmed) qp_.peer->paths.on_delivered(now, r.ev, r.sent_at);
  after_progress(now);
}

}  // namespace mrc::core
