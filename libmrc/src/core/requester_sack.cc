// SACKs. One reports the packets that have arrived and frees them, and has a verdict on the path of the packet that
// caused it. It may be stale, so everything is compared with the record of sent packets first. [MRC-SACK-*, MRC-ACK-1]
#include <algorithm>
#include <new>

#include "core/path_prober.h"
#include "core/peer.h"
#include "core/requester.h"
#include "core/tx_scheduler.h"

namespace mrc::core {

namespace {

// True if the bitmap covers the first packet above the cumulative acknowledgement and that has not arrived. One that
// has arrived is a WriteIMM that waits for a receive work request.
bool reports_missing(const wire::Seth& seth) {
  const int64_t bit = 1 - int64_t{seth.sack_offset};
  return bit >= 0 && bit < int64_t{wire::kSackBitmapBits} && (seth.sack_bitmap >> bit & 1) == 0;
}

}  // namespace

// Sequence number of a PSN near the window; negative for what lies before the first packet.
int64_t Requester::seq_of(Psn psn) const {
  return static_cast<int64_t>(sent_.una()) + (psn - psn_of(sent_.una()));
}

// The order of the steps matters. The named packet is read, and its lateness and its path judged, before the SACK's own
// arrivals change its record and the newest arrival, and count as deliveries without a mark. Congestion control then
// sees the window as it is after them. A probe's answer comes before the search for losses, because it shows that
// everything sent before the probe has been reported. Timers and the readiness to send depend on all of it.
void Requester::on_sack(Instant now, const wire::Packet& p) {
  const wire::Seth& seth = p.sack.seth;
  const int64_t cack_next = seq_of(seth.cack_psn) + 1;
  if (cack_next < 0 || cack_next > static_cast<int64_t>(sent_.nxt())) {
    ++qp_.engine.counters.drop_stale;
    return;
  }
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kNone,
                    event::RxSack{.cack = seth.cack_psn,
                                  .bitmap = seth.sack_bitmap,
                                  .base = seth.cack_psn + seth.sack_offset,
                                  .ev = seth.entropy});
  const bool counted = p.bth.ack_req && !seth.pr && note_duplicate(cack_next - 1 + seth.ack_psn_offset);
  const Named named = read_named(now, p, cack_next);
  if (named.known) {
    note_lateness(now, p, named);
    apply_path_verdict(now, seth, named);
  }
  const bool newly_acked = take_arrivals(now, seth, static_cast<uint64_t>(cack_next));
  // Else about packets of long ago, which any host can name without a guess: it does not delay the next probe either
  // [MRC-SEC-14].
  if (!newly_acked && !named.known && !(seth.pr && probe_.expects(seth.probe_id))) {
    qp_.engine.counters.drop_stale += counted ? 0 : 1;
    return;
  }
  follow_peer_window(seth.mpr);
  update_congestion(now, p, named);
  if (!named.known) apply_path_verdict(now, seth, named);
  if (seth.pr && !take_probe_answer(now, seth, static_cast<uint64_t>(cack_next))) return;
  detect_losses(now, false);
  after_progress(now);
}

// The round trip is taken from our own send record; the reflected timestamp gives the responder's
// ACK delay [MRC-CC-4]. It is certain which copy was answered when the packet was sent once and the answer is not
// flagged, or sent exactly twice and the answer is flagged: a flow whose whole backlog was trimmed has no others
// [MRC-LOSS-6, MRC-CHOICE-Q9].
Requester::Named Requester::read_named(Instant now, const wire::Packet& p, int64_t cack_next) const {
  Named named;
  const wire::Seth& s = p.sack.seth;
  if (!sent_.open()) return named;
  if (s.pr) {
    if (probe_.outstanding() && s.probe_id == probe_.latest().id) named.ev = probe_.latest().ev;
    return named;
  }
  const int64_t seq = cack_next - 1 + s.ack_psn_offset;
  if (!sent_.remembers(seq)) return named;
  named.seq = static_cast<uint64_t>(seq);
  const TxRecord& r = sent_[named.seq];
  if (r.sends == 1) named.ev = r.ev;  // else the answer's entropy identifies the copy
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
  // Short packets pass links and queues faster [MRC-NSCC-CHOICE-6]. One sent twice must not lower the base permanently:
  // a flag may also mean that the responder held the answer to the first copy for long.
  named.measures_path = named.rtt > Duration() && r.sends == 1 && r.nominal >= full_nominal();
  return named;
}

void Requester::on_arrived(Instant now, uint64_t seq, ArrivedBurst* burst) {
  const SentPackets::Arrival arrival = sent_.on_arrived(seq);
  if (arrival == SentPackets::Arrival::kKnown) return;
  const TxRecord& r = sent_[seq];
  if (arrival == SentPackets::Arrival::kInFlight && r.sends == 1) {
    if (!burst->holds(r)) {
      end_arrived(now, burst);
      *burst = {r.ev, r.sent_at};
    }
    burst->add(seq, r.nominal);
  } else {
    end_arrived(now, burst);
    on_doubtful_arrived(now, seq, arrival);
  }
}

// Of packets in flight that were sent once, in one burst, so over one path: what their arrival shows is noted once.
void Requester::end_arrived(Instant now, ArrivedBurst* burst) {
  if (burst->packets == 0) return;
  PeerPaths& paths = qp_.peer->paths;
  rotation_.on_left(paths.plane_of(burst->ev), burst->packets);
  qp_.peer->meter.on_delivered(burst->nominal);
  on_delivered(now, {burst->sent_at, burst->last}, burst->ev, true, burst->packets);
  rotation_.on_delivered(burst->ev, burst->last, sent_.nxt());
  paths.on_rtt(burst->ev, now - burst->sent_at);
  burst->packets = 0;
}

// Of a packet that was sent again, or counted as lost until now.
void Requester::on_doubtful_arrived(Instant now, uint64_t seq, SentPackets::Arrival arrival) {
  const TxRecord& r = sent_[seq];
  if (arrival == SentPackets::Arrival::kInFlight) rotation_.on_left(qp_.peer->paths.plane_of(r.ev));
  qp_.peer->meter.on_delivered(r.nominal);
  if (arrival == SentPackets::Arrival::kLost) congestion_->on_lost_packet_acked(r.nominal);
  if (r.sends > 1) note_retransmission_delay(now - r.first_sent_at());
  // The copy that arrived of a packet sent twice is unknown; an answer sooner than any round trip was to the first.
  if (r.sends > 1 && now - r.sent_at < rtt_.min()) return;
  on_delivered(now, {r.sent_at, seq}, r.ev, true);
  rotation_.on_delivered(r.ev, seq, sent_.nxt());
  if (r.sends != 1) return;
  qp_.peer->paths.on_rtt(r.ev, now - r.sent_at);
  const bool blamed = r.lost_by == TraceTrigger::kOvertaken || r.lost_by == TraceTrigger::kTimedOut;
  if (blamed) refute_loss(now, r, r.ev, r.sent_at);
}

// The path was blamed for a sending of that packet which has arrived. [MRC-EVS-17]
void Requester::refute_loss(Instant now, const TxRecord& r, EvIndex ev, Instant sent_at) {
  PeerPaths& paths = qp_.peer->paths;
  const uint32_t before = paths.generation();
  paths.on_loss_refuted(now, ev, sent_at, r.lost_by == TraceTrigger::kTimedOut);
  if (paths.generation() != before) qp_.peer->rearm(&qp_.engine.timers);
}

// What was sent so on that path has arrived: so many packets. `asked_before`: LossDetector.
void Requester::on_delivered(Instant now, Sending sending, EvIndex ev, bool asked_before, uint32_t packets) {
  PeerPaths& paths = qp_.peer->paths;
  const PlaneId plane = paths.plane_of(ev);
  paths.on_delivered(now, ev, sending.at, packets);
  detector_.on_delivered(now, sending, plane, paths.plane_rtt(plane), rtt_, asked_before);
}

// The peer has received this packet again. One of a packet whose record is gone was sent again as long as any such copy
// of the QP is not accounted for; one that was sent once was copied by the network. True: it counts. [MRC-CNT-3]
// [MRC-SACK-11]
bool Requester::note_duplicate(int64_t seq) {
  if (qp_.peer->description.nic || seq < 0 || seq >= static_cast<int64_t>(sent_.nxt())) return false;
  if (sent_.remembers(seq) && sent_[static_cast<uint64_t>(seq)].sends == 1) return false;
  return count_needless();
}

bool Requester::count_needless() {
  if (totals_.needless >= totals_.retransmits) return false;
  ++totals_.needless;
  ++qp_.engine.counters.spurious_retransmits;
  return true;
}

// A QP's first retransmission allocates its histogram; where memory has run out, the next one does.
void Requester::note_retransmission_delay(Duration delay) {
  qp_.peer->latency.retransmission.record(delay);
  std::unique_ptr<DelayHistogram>& own = totals_.retransmission_delays;
  if (own == nullptr) own.reset(new (std::nothrow) DelayHistogram);
  if (own != nullptr) own->record(delay);
}

void Requester::on_arrived_below(Instant now, uint64_t end) {
  ArrivedBurst burst;
  for (uint64_t s = sent_.una(); s < end; ++s) on_arrived(now, s, &burst);
  end_arrived(now, &burst);
  sent_.advance_to(end);
}

// Frees the packets that have arrived: all below `cack_next` and those in the bitmap. False: there are none.
bool Requester::take_arrivals(Instant now, const wire::Seth& seth, uint64_t cack_next) {
  const uint64_t una_before = sent_.una();
  bool newly_acked = cack_next > una_before;
  on_arrived_below(now, cack_next);
  if (packets_.on_cumulative(cack_next)) rto_.on_progress();
  if (sent_.open() && seth.sack_bitmap != 0) {
    ArrivedBurst burst;
    const int64_t base = static_cast<int64_t>(cack_next) - 1 + seth.sack_offset;
    for (uint64_t bits = seth.sack_bitmap; bits != 0; bits &= bits - 1) {
      const int64_t seq = base + __builtin_ctzll(bits);
      if (!sent_.outstanding(seq)) continue;
      newly_acked = newly_acked || !sent_[static_cast<uint64_t>(seq)].acked;
      on_arrived(now, static_cast<uint64_t>(seq), &burst);
    }
    end_arrived(now, &burst);
    sent_.advance();
  }
  if (sent_.una() == una_before) return newly_acked;
  probe_.on_progress();
  rto_.on_new_oldest(now);
  return newly_acked;
}

void Requester::follow_peer_window(uint8_t mpr) {
  if (!qp_.attr.dynamic_mpr || mpr == 0) return;
  packets_.set_window(128u * mpr);
}

void Requester::update_congestion(Instant now, const wire::Packet& p, const Named& named) {
  const bool marked = p.sack.seth.m == wire::PathVerdict::kSkipOnce;
  AckSample sample;
  sample.rcvd_bytes_24 = p.sack.cc.rcvd_bytes;
  if (named.known) sample.nominal = sent_[named.seq].nominal;
  sample.ecn_marked = marked;
  sample.rcv_cwnd_pen = p.sack.cc.rcv_cwnd_pen;
  sample.restore_cwnd = p.sack.cc.restore_cwnd;
  sample.may_lower_base = named.measures_path;
  if (named.rtt > Duration()) {
    sample.rtt = named.rtt;
    take_sample(named.rtt);
    qp_.peer->paths.on_plane_rtt(sent_[named.seq].ev, named.rtt);
  }
  congestion_->on_ack(now, sample);
  PathMeter& meter = qp_.peer->meter;
  if (named.measures_path) meter.on_rtt(now, named.rtt);
  const CongestionSnapshot window = congestion_->snapshot();
  meter.on_sack(now, sent_.nxt() < sq_.end_seq(), window_is_cut(window));
  if (followed_.generation != meter.generation()) follow_meter();
  trace_window(now, marked ? TraceTrigger::kMarked : TraceTrigger::kSack, named.rtt);
}

void Requester::take_sample(Duration rtt) {
  rtt_.on_sample(rtt);
  Duration& recent = qp_.peer->recent_rtt;
  recent = rtt > recent ? recent + (rtt - recent) / 4 : recent - (recent - rtt) / 64;  // quick up, slow down
}

void Requester::follow_meter() {
  const PathMeter& meter = qp_.peer->meter;
  const CongestionConfig& c = congestion_config();
  followed_.generation = meter.generation();
  if (followed_.generation == 0 || !(c.measure_rate || c.measure_rtt)) return;
  congestion_->on_measured(c.measure_rate ? meter.rate_bps() : c.line_rate_bps,
                           c.measure_rtt ? meter.rtt() : Duration());
}

// The window has been cut, so that a queue existed; it was not only begun below its maximum.
bool Requester::window_is_cut(const CongestionSnapshot& window) {
  const bool full = window.cwnd >= window.max_wnd;
  if (full || window.cwnd < followed_.begun_at) followed_.begun_at = 0;
  return !full && followed_.begun_at == 0;
}

void Requester::trace_window(Instant now, TraceTrigger why, Duration rtt) {
  if (!qp_.engine.trace.on()) return;
  const CongestionSnapshot s = congestion_->snapshot();
  qp_.engine.report(now, qp_.qpn, why,
                    event::Cwnd{.cwnd = static_cast<uint64_t>(s.cwnd),
                                .inflight = static_cast<int64_t>(s.inflight),
                                .rtt = rtt,
                                .branches = {s.steps}});
}

// Applies the answer to the path of the named packet.
void Requester::apply_path_verdict(Instant now, const wire::Seth& seth, const Named& named) {
  const std::optional<EvIndex> ev = named.ev ? named.ev : qp_.engine.ev_index_of(seth.entropy);
  if (!ev) return;
  if (seth.m == wire::PathVerdict::kSkipOnce) {
    skip_path(now, *ev, named.known ? std::optional(named.seq) : std::nullopt, TraceTrigger::kMarked);
    qp_.peer->paths.on_ecn(*ev);
  } else if (seth.m == wire::PathVerdict::kAlwaysSkip) {
    qp_.peer->paths.on_always_skip(now, *ev);
    qp_.peer->rearm(&qp_.engine.timers);
  }
}

// `seq`: of the marked packet; none: of a probe, or of one that is not remembered.
void Requester::skip_path(Instant now, EvIndex ev, std::optional<uint64_t> seq, TraceTrigger why) {
  const EndpointConfig& c = qp_.engine.config;
  if (c.oblivious || !rotation_.skip(ev, seq, sent_.nxt())) return;
  ++qp_.engine.counters.ev_skips;
  qp_.engine.report(now, qp_.qpn, why,
                    event::EvState{.ev = c.evs[ev].value, .state = EvState::kSkip, .plane = c.evs[ev].plane});
}

// Where answers take longer than the pause between probes, only the one to the first of them is in time: without it a
// slow peer would permanently be probed faster than it can answer [MRC-LOSS-2]. False: the QP has failed, because the
// answer denies what had been acknowledged before the probe was sent: one of the two is forged, and the responder waits
// for a packet that is not retransmitted any more [MRC-SEC-13].
bool Requester::take_probe_answer(Instant now, const wire::Seth& seth, uint64_t cack_next) {
  const std::optional<ProbeTimer::Answer> answer = probe_.on_answer(seth.probe_id);
  if (!answer) return true;
  if (cack_next < answer->probe.una && reports_missing(seth)) {
    ++qp_.engine.counters.contradictions;
    qp_.fail(now, WcStatus::kRemoteOperation, AsyncEvent::kQpFatal);
    return false;
  }
  const Instant sent_at = answer->probe.sent_at;
  if (answer->late) {
    Duration& recent = qp_.peer->recent_rtt;
    recent = std::max(recent, recent + (now - sent_at - recent) / 4);
  }
  // The peer is up and has everything: it delays the completion for reasons of its own. While packets are missing, an
  // answered probe only proves that small ones pass.
  if (sent_.all_arrived()) rto_.on_progress();
  on_delivered(now, {sent_at}, answer->probe.ev, answer->after_silence || answer->late);
  if (!sent_.all_arrived()) suspect_path_mtu(now);
  // Everything sent before the probe has either been reported by now or is lost.
  sent_.on_all_reported();
  return true;
}

void Requester::after_progress(Instant now) {
  if (sent_.all_arrived() && sq_.empty()) end_sending();
  arm_rto(now);
  arm_probe(now);
  qp_.set_deadline(QpHalf::kRequester, deadline());
  if (may_send()) qp_.services.scheduler.make_ready(&qp_);
}

}  // namespace mrc::core
