// Loss recovery for packets that overtake each other on hundreds of paths.
//
// 1. Inference by time. LossDetector judges by send times, with a window that follows measured lateness; counting
//    packets would mistake a burst on a slow plane for a loss [MRC-LOSS-1, MRC-CHOICE-Q17].
// 2. Probes. After a silence, a reliability probe on another EV requests the full state; with
//    its answer, rule 1 judges everything sent before it. This repairs the tail, not the timeout
//    [MRC-LOSS-2].
// 3. Timeout. A packet older than the QP's timeout is retransmitted, its EV retired, and the retry budget charged:
//    first the linear attempts at a fixed interval, then doubling ones (RetransmissionTimer). While the peer answers
//    nothing at all, only the oldest packet is retransmitted: the peer may merely not run, and then everything has
//    arrived [MRC-LOSS-7].
// 4. Budget. It is also charged for each interval without an answer [MRC-LOSS-4] and for each interval in which the
//    oldest packet was not delivered although it was retransmitted [MRC-LOSS-5].
// NACKs are handled with the other answers in requester_ack.cc.
#include <algorithm>

#include "core/control_queue.h"
#include "core/flows.h"
#include "core/path_prober.h"
#include "core/peer.h"
#include "core/requester.h"
#include "core/tx_scheduler.h"

namespace mrc::core {

// Lateness of the packet that a SACK names. Only that is certain: a packet reported by another
// packet's SACK may have arrived in time, and its own SACK was lost.
void Requester::note_lateness(Instant now, const wire::Packet& p, const Named& named) {
  const TxRecord& r = sent_[named.seq];
  if (named.seq >= sent_.una() && !r.acked && r.sends == 1 && named.rtt > Duration()) {
    detector_.on_round_trip(named.rtt);
    detector_.on_late(now, detector_.lateness(r.sent_at), rtt_);
    return;
  }
  if (r.sends < 2 || p.bth.rtx) return;
  // The answer is to the first copy, and the retransmission was needless. The first copy's own send time counts,
  // not the reflected timestamp, which wraps every 8 ms. Its path does carry packets.
  if (qp_.peer->description.nic && !r.acked) count_needless();  // it reports no duplicates [MRC-CNT-3]
  const Instant first = r.first_sent_at();
  detector_.on_round_trip(now - first);
  detector_.on_late(now, detector_.lateness(first), rtt_);
  const std::optional<EvIndex> ev = qp_.engine.ev_index_of(p.sack.seth.entropy);
  if (!ev) return;
  // Of a burst of late packets each has a SACK of its own: together they are one sample.
  PeerPaths& paths = qp_.peer->paths;
  if (paths.delivered_at(paths.plane_of(*ev)) < now) paths.on_plane_rtt(*ev, now - first);
  on_delivered(now, {first}, *ev, true);
  refute_loss(now, r, *ev, first);
}

void Requester::mark_lost(Instant now, uint64_t seq, LossCause cause) {
  const TxRecord& r = sent_[seq];
  sent_.on_lost(seq, cause == LossCause::kTimedOut ? TraceTrigger::kTimedOut : TraceTrigger::kOvertaken);
  congestion_->on_loss(now, r.nominal, cause);
  const PlaneId plane = qp_.peer->paths.plane_of(r.ev);
  rotation_.on_left(plane);
  ++qp_.engine.plane_counters[plane].losses;
}

// Call it after the packet was marked.
void Requester::report_lost(Instant now, LossCause cause, uint64_t seq) {
  const TxRecord& r = sent_[seq];
  const EvEntry& ev = qp_.engine.config.evs[r.ev];
  const Psn psn = psn_of(seq);
  const Duration age = now - r.sent_at;
  if (cause == LossCause::kTimedOut) {
    qp_.engine.report(now, qp_.qpn, TraceTrigger::kTimedOut,
                      event::Timeout{.psn = psn, .attempt = rto_.attempts(), .ev = ev.value, .age = age});
  } else {
    qp_.engine.report(now, qp_.qpn, TraceTrigger::kOvertaken,
                      event::Lost{.psn = psn, .ev = ev.value, .plane = ev.plane, .age = age});
  }
}

void Requester::detect_losses(Instant now, bool has_read) {
  const Instant overdue = lost_deadline_;
  lost_deadline_ = Instant::never();
  if (sent_.una() >= sent_.highest_acked()) return;
  // SACKs that arrived while this host did not run are read in the order of the planes' sockets, not in theirs.
  if (const Instant caught_up = qp_.engine.caught_up(); now < caught_up) {
    lost_deadline_ = caught_up;
    return;
  }
  const EndpointConfig& c = qp_.engine.config;
  PeerPaths& paths = qp_.peer->paths;
  bool any = false;
  lost_deadline_ =
      detector_.detect(now, sent_, rtt_, c.reorder_floor, {qp_.engine.ran_since, has_read}, paths, [&](uint64_t seq) {
        mark_lost(now, seq, LossCause::kOvertaken);
        paths.on_lost(now, sent_[seq].ev, sent_[seq].sent_at);
        report_lost(now, LossCause::kOvertaken, seq);
        any = true;
      });
  // A flood of arrivals must not put it off: timers are bounded by how long they are due.
  if (!has_read && overdue <= now && lost_deadline_ < Instant::never())
    lost_deadline_ = std::min(lost_deadline_, overdue);
  if (!any) return;
  trace_window(now, TraceTrigger::kOvertaken, Duration());
  qp_.peer->rearm(&qp_.engine.timers);
  qp_.services.scheduler.make_ready(&qp_);
}

Duration Requester::rto_interval() const {
  return rto_.interval(qp_.attr, std::max(rtt_.smoothed(), qp_.peer->recent_rtt));
}

void Requester::arm_rto(Instant now) {
  if (!outstanding()) {
    rto_.cancel();
  } else if (!rto_.armed()) {
    rto_.arm(now, rto_interval());
  }
}

// Nothing has arrived for so long although the peer was asked: it does not run, or nothing reaches it.
bool Requester::peer_is_silent(Instant now) const {
  return probe_.outstanding() && detector_.silent_since(probe_.latest().sent_at) &&
         detector_.silent_since(now - rto_interval() / 2);
}

// Takes packets in flight for so long for lost; of a silent peer the oldest one alone.
RetransmissionTimer::Expired Requester::time_out_packets(Instant now, Duration interval) {
  const bool silent = peer_is_silent(now);
  const auto on_expired = [&](uint64_t seq) {
    const TxRecord& r = sent_[seq];
    mark_lost(now, seq, LossCause::kTimedOut);
    ++totals_.timeouts;
    qp_.peer->paths.on_unanswered(now, r.ev, silent ? now - interval / 2 : r.sent_at);  // others may have answers
    report_lost(now, LossCause::kTimedOut, seq);
  };
  const auto expired =
      RetransmissionTimer::expire(now, interval, silent, detector_, qp_.peer->paths, &sent_, on_expired);
  if (expired.any) {
    trace_window(now, TraceTrigger::kTimedOut, Duration());
    qp_.peer->rearm(&qp_.engine.timers);
  }
  return expired;
}

void Requester::handle_rto(Instant now) {
  rto_.cancel();
  if (!outstanding()) return;
  if (const Instant caught_up = qp_.engine.caught_up(); now < caught_up) {
    rto_.postpone(caught_up);
    return;
  }
  const Duration interval = rto_interval();
  const auto [any, next] = time_out_packets(now, interval);
  const RetransmissionTimer::Verdict verdict = rto_.judge(now, interval, any, sent_, probe_, qp_.attr);
  if (verdict.spent) return fail_for_silence(now);
  if (any || verdict.stuck) suspect_path_mtu(now);
  if (qp_.state != QpState::kRts) return;
  if (verdict.silent) send_probe(now, TraceTrigger::kStandstill);
  rto_.restart(now, next, rto_interval());
  if (sent_.lost() > 0) qp_.services.scheduler.make_ready(&qp_);
}

// Until then the planes may carry full packets again. [MRC-MTU-4]
void Requester::fail_for_silence(Instant now) {
  const uint32_t found = qp_.services.prober.peer_path_mtu(*qp_.peer);
  const bool too_long = found != 0 && stuck_above(found);
  qp_.engine.counters.mtu_failures += too_long;
  fail_unacknowledged(now, too_long ? WcStatus::kPathMtu : WcStatus::kRetryExceeded);
}

// [MRC-MTU-1]
void Requester::suspect_path_mtu(Instant now) {
  if (!size_is_suspect(sent_, qp_.engine.config.timestamps)) return;
  const PlaneId plane = qp_.peer->paths.plane_of(sent_[sent_.una()].ev);
  qp_.services.prober.suspect_path_mtu(now, qp_.peer, plane, qp_.attr.path_mtu);
}

// Armed while anything is unanswered, re-armed by every send and every answer.
void Requester::arm_probe(Instant now) {
  if (sent_.nxt() == 0 || (sent_.all_arrived() && (sq_.empty() || sq_.front().first_seq >= sent_.nxt()))) {
    probe_.cancel();
    return;
  }
  probe_.arm(now, qp_.engine.config.probe_floor, std::max(rtt_.smoothed(), qp_.peer->recent_rtt) * 6 / 5);
}

Duration Requester::probe_timeout() const {
  return std::max(rtt_.smoothed() * 2 + rtt_.variation() * 4, qp_.peer->recent_rtt * 2);
}

void Requester::send_probe(Instant now, TraceTrigger why) {
  probe_.on_due();
  PeerPaths& paths = qp_.peer->paths;
  // Where no packet could be queued there is no silence: nothing has been asked.
  const std::optional<EvIndex> ev = rotation_.next(&paths, PlaneSet::all(), qp_.attr.evs.get(), peer_is_silent(now));
  const uint16_t id = probe_.draw_id(qp_.engine.message_secret ^ uint64_t{qp_.qpn.value()} << 32);
  if (ev && queue_probe(now, why, *ev, id)) {
    // A probe that never came back is silence on its path, too. It is sent again before that is certain: its path is
    // blamed only when the answer is later than queues explain, its plane's own among them.
    const ProbeTimer::Probe& last = probe_.latest();
    if (probe_.unanswered_for(now, probe_timeout()) && paths.peer_ran_since(last.sent_at) &&
        paths.passed_over(now, last.ev, last.sent_at))
      paths.on_lost(now, last.ev, last.sent_at);
    probe_.on_sent(now, id, *ev, sent_.una());
    qp_.peer->rearm(&qp_.engine.timers);
  }
  arm_probe(now);
}

// False: too many control packets wait.
bool Requester::queue_probe(Instant now, TraceTrigger why, EvIndex ev, uint16_t id) {
  const EndpointConfig& c = qp_.engine.config;
  const std::optional<wire::Flow> flow =
      make_flow(c, qp_.peer->description, ev, c.trimming ? c.dscp.trimmable : c.dscp.no_trim);
  if (!flow) return true;
  wire::Bth bth;
  bth.opcode = wire::Opcode::kProbe;
  bth.dqp = qp_.attr.dest_qpn;
  bth.pkey = qp_.attr.pkey;
  wire::Peth peth;
  peth.probe_id = id;
  peth.spdcid = static_cast<uint16_t>(qp_.qpn.value());
  peth.dpdcid = static_cast<uint16_t>(qp_.attr.dest_qpn.value());
  peth.timestamp.tx_timestamp = wire::timestamp_of(now);
  if (!qp_.services.control.push(*flow, ev, [&](std::span<uint8_t> out) { return wire::encode_probe(out, bth, peth); }))
    return false;
  qp_.engine.report(
      now, qp_.qpn, why,
      event::TxProbe{
          .probe_id = peth.probe_id, .ev = c.evs[ev].value, .plane = c.evs[ev].plane, .backoff = probe_.backoff()});
  return true;
}

void Requester::on_timer(Instant now) {
  if (rto_.deadline() <= now) handle_rto(now);
  if (qp_.state == QpState::kRts && lost_deadline_ <= now) detect_losses(now, true);
  if (qp_.state == QpState::kRts && probe_.deadline() <= now) send_probe(now, TraceTrigger::kSilence);
}

}  // namespace mrc::core
