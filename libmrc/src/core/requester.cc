// Sending: builds a burst of the packets that may be sent.
//
// A burst takes lost packets first, or new ones, as far as the congestion window, the peer's MPR window and the
// WriteIMM limit allow. All of it leaves on one EV, which is chosen here, at send time. Packets of a burst have one
// size; a shorter one ends it, a longer one begins the next burst.
#include "core/requester.h"

#include <algorithm>
#include <bit>

#include "core/burst_builder.h"
#include "core/congestion/registry.h"
#include "core/flows.h"
#include "core/peer.h"
#include "wire/bytes.h"
#include "wire/udp.h"

namespace mrc::core {

const CongestionConfig& Requester::congestion_config() const {
  return qp_.attr.congestion != nullptr ? *qp_.attr.congestion : qp_.engine.config.congestion;
}

uint32_t Requester::full_nominal() const {
  const EndpointConfig& c = qp_.engine.config;
  return wire::nominal_size(wire::packet_bytes(wire::Opcode::kWriteMiddle, c.timestamps, qp_.attr.path_mtu));
}

void Requester::start(Instant now) {
  const EndpointConfig& c = qp_.engine.config;
  CongestionFlow flow;
  flow.mtu = full_nominal();
  flow.trimming = c.trimming && qp_.attr.trim_nack;
  flow.ack_bytes = c.sack_bytes;  // the peer's own is unknown
  congestion_ = make_congestion_control(congestion_config(), flow, now);
  detector_.start(c.planes.size(), c.host_delay);
  followed_ = {};
  if (qp_.peer != nullptr) follow_meter();
  packets_.set_window(128u * std::max<uint32_t>(1, qp_.attr.mpr));
}

void Requester::reset() {
  end_sending();
  sq_.reset();
  sent_.restart(0);
  packets_.reset();
  rotation_.reset();
  rtt_ = RttEstimator();
  detector_ = LossDetector();
  probe_.reset();
  rto_.on_progress();
  rto_.cancel();
  lost_deadline_ = Instant::never();
  completions_.reset();
}

// [MRC-REQ-2] [MRC-REQ-3]
Requester::Build Requester::build(Instant now, PlaneSet planes_with_room, TxBurst* out, BurstBuilder* builder) {
  const EndpointConfig& c = qp_.engine.config;
  const QpAttr& a = qp_.attr;
  if (!sent_.open() && sent_.nxt() >= packets_.limit()) return Build::kNothing;
  make_room();
  packets_.begin_burst();
  const uint32_t max_segments = std::min(std::max<uint32_t>(1, c.max_segments), kMaxSegments);
  bool window_closed = false, ack_wanted = false, after_timeout = false;
  PacketScheduler::Packet p;
  const uint32_t share = share_of_room();
  while (out->segments < max_segments) {
    const PacketScheduler::Next next = packets_.next(a.path_mtu, a.max_wimm, c.timestamps, &p);
    window_closed = next == PacketScheduler::Next::kWindowClosed;
    if (next != PacketScheduler::Next::kPacket || !fits(p, *out)) break;
    // The bytes in flight of congestion control come from the receiver's byte count and lag when the last SACK is
    // lost. With no packet in flight one packet may always be sent, and its SACK corrects the count [MRC-NSCC-10]. So
    // may the oldest one after its timeout: of a silent peer all others remain in flight [MRC-LOSS-7].
    window_closed = (!congestion_->can_send(p.nominal()) || sent_.in_flight() >= share) && sent_.in_flight() > 0 &&
                    !sent_.oldest_timed_out(p.seq);
    if (window_closed || !builder->room(p.request->inline_data ? 1u : p.request->num_sge)) break;
    if (out->segments == 0) {
      after_timeout = sent_.oldest_timed_out(p.seq);
      if (!choose_path(now, planes_with_room, out)) return Build::kNoRoom;
    }

    iovec pieces[kMaxIov];
    const int n = sq_.gather(*p.request, p.offset, p.payload, qp_.engine.memory, qp_.pd, pieces,
                             static_cast<int>(kMaxIov - out->iov_count - 2));
    if (n < 0 && out->segments > 0) break;  // the packets built already may be sent
    if (n < 0) return fail_local_protection(now, *p.request);
    builder->add(write_headers(now, p, builder->header()), pieces, n, p.payload);
    ack_wanted = ack_wanted || congestion_->requests_ack(p.nominal());
    note_sent(now, p, out->ev_index);
    if (p.bytes < out->segment_size) break;
  }
  if (out->segments == 0) return Build::kNothing;

  // The window is closed or nearly so: an immediate acknowledgement keeps it open [MRC-NSCC-10]. [MRC-REQ-4]
  if (ack_wanted || (window_closed && sent_.nxt() < sq_.end_seq())) builder->set_ack_req_on_last();
  count_burst(*out);
  arm_rto(now);
  // The oldest packet of a silent peer is sent more often than probes are, which it must not put off.
  if (!after_timeout) arm_probe(now);
  qp_.set_deadline(QpHalf::kRequester, deadline());
  return Build::kSent;
}

void Requester::make_room() {
  const bool begins = !sent_.open();
  sent_.make_room(&qp_.engine.pools.windows, kMaxSegments, packets_.window());
  if (begins) begin_sending();
}

// Where the rate is measured, the QPs that send to the peer share one window when they begin: the first flights of
// many would overflow its queues. [MRC-NSCC-31]
void Requester::begin_sending() {
  const uint32_t senders = ++qp_.peer->senders;
  if (senders == 1 || !congestion_config().measure_rate) return;
  const int64_t share = congestion_->snapshot().max_wnd / std::bit_ceil(senders);
  congestion_->limit(share);
  followed_.begun_at = congestion_->snapshot().cwnd;
}

// The packets that this QP may have in flight. [MRC-NSCC-32]
uint32_t Requester::share_of_room() const {
  constexpr uint64_t kMinPackets = 4;
  const uint64_t room = qp_.engine.config.receive_room;
  if (room == 0) return UINT32_MAX;
  const uint64_t packets = room / qp_.attr.path_mtu >> std::countr_zero(std::bit_ceil(qp_.peer->senders));
  return static_cast<uint32_t>(std::clamp<uint64_t>(packets, kMinPackets, UINT32_MAX));
}

void Requester::end_sending() {
  if (!sent_.open()) return;
  sent_.close(&qp_.engine.pools.windows);
  --qp_.peer->senders;
}

bool Requester::fits(const PacketScheduler::Packet& p, const TxBurst& burst) const {
  if (burst.segments == 0) return true;
  const uint32_t max_bytes = std::min(std::max<uint32_t>(qp_.engine.config.max_burst_bytes, 9000), kMaxBurstBytes);
  return p.bytes <= burst.segment_size && burst.bytes + p.bytes <= max_bytes;
}

// False: no plane with a path has room.
bool Requester::choose_path(Instant now, PlaneSet planes_with_room, TxBurst* out) {
  const EndpointConfig& c = qp_.engine.config;
  const QpAttr& a = qp_.attr;
  const std::optional<EvIndex> ev =
      rotation_.next(&qp_.peer->paths, planes_with_room, a.evs.get(), peer_is_silent(now));
  if (!ev) return false;
  qp_.engine.report(now, qp_.qpn, rotation_.why(),
                    event::EvChosen{.ev = c.evs[*ev].value,
                                    .plane = c.evs[*ev].plane,
                                    .passed_skipped = rotation_.passed_skipped(),
                                    .passed_full = rotation_.passed_full()});
  // Trimming switches recognise trimmable packets by code points that no AV may change [MRC-REQ-10].
  uint8_t dscp = a.traffic_class != 0 ? static_cast<uint8_t>(a.traffic_class >> 2) : c.dscp.no_trim;
  if (c.trimming && a.trim_nack) dscp = packets_.retransmits() ? c.dscp.trimmable_retx : c.dscp.trimmable;
  set_flow(c, qp_.peer->description, *ev, dscp, out);
  return true;
}

// A key or range of the request is not valid. Earlier requests are still outstanding and may succeed: the error waits
// until this one is the oldest [MRC-REQ-8].
Requester::Build Requester::fail_local_protection(Instant now, const Wqe& request) {
  if (&request == &sq_.front()) qp_.fail(now, WcStatus::kLocalProtection, AsyncEvent::kQpFatal);
  return Build::kNothing;
}

void Requester::on_unreadable(Instant now, Psn psn, uint64_t address) {
  const Wqe& w = packets_.request_of(static_cast<uint64_t>(seq_of(psn)));
  packets_.withhold(w.first_seq);
  qp_.engine.sink.on_memory_fault(qp_.qpn, sq_.fault_of(w, qp_.engine.memory, address));
  fail_unreadable(now);
}

bool Requester::fail_unreadable(Instant now) {
  if (sq_.empty() || sq_.front().first_seq != packets_.withheld()) return false;
  qp_.fail(now, WcStatus::kLocalProtection, AsyncEvent::kQpFatal);
  return true;
}

uint32_t Requester::write_headers(Instant now, const PacketScheduler::Packet& p, std::span<uint8_t> out) const {
  const Wqe& w = *p.request;
  wire::Bth bth;
  bth.dqp = qp_.attr.dest_qpn;
  bth.pkey = qp_.attr.pkey;
  bth.rtx = packets_.retransmits();
  bth.psn = psn_of(p.seq);
  bth.pad = wire::pad_for(p.payload);
  wire::Tseth tseth;
  tseth.tx_timestamp = wire::timestamp_of(now);
  wire::Meth meth;
  meth.msn = w.msn;
  meth.rqmsn = w.rqmsn;
  wire::Reth reth;
  reth.va = w.remote_addr + p.offset;
  reth.rkey = w.rkey;
  reth.dmalen = w.length;
  const uint32_t imm = wire::get32(reinterpret_cast<const uint8_t*>(&w.imm));
  return wire::encode_request_headers(out, p.opcode, bth, meth, qp_.engine.config.timestamps ? &tseth : nullptr, reth,
                                      &imm);
}

void Requester::note_sent(Instant now, const PacketScheduler::Packet& p, EvIndex ev) {
  const EvEntry& entry = qp_.engine.config.evs[ev];
  if (packets_.retransmits()) {
    sent_.on_sent_again(now, p.seq, ev, p.nominal());
    const TxRecord& r = sent_[p.seq];
    qp_.engine.counters.fast_retransmits += r.lost_by == TraceTrigger::kOvertaken;
    qp_.engine.report(
        now, qp_.qpn, r.lost_by,
        event::Retransmit{.psn = psn_of(p.seq), .ev = entry.value, .plane = entry.plane, .transmission = r.sends});
  } else {
    if (p.seq == sent_.una()) rto_.on_new_oldest(now);
    sent_.on_sent(now, ev, p.nominal());
    qp_.engine.report(
        now, qp_.qpn, TraceTrigger::kNone,
        event::TxData{.psn = psn_of(p.seq), .ev = entry.value, .plane = entry.plane, .size = p.nominal()});
  }
  packets_.on_sent(p);
  rotation_.on_sent(entry.plane);
  congestion_->on_sent(p.nominal());
}

void Requester::count_burst(const TxBurst& burst) {
  Counters& counters = qp_.engine.counters;
  counters.tx_data += burst.segments;
  totals_.packets += burst.segments;
  if (!packets_.retransmits()) return;
  counters.retransmits += burst.segments;
  qp_.engine.plane_counters[burst.plane].retransmits += burst.segments;
  totals_.retransmits += burst.segments;
}

void Requester::complete_front(Instant now, WcStatus status) {
  const Wqe& w = sq_.front();
  packets_.on_completed(w);
  if (status == WcStatus::kSuccess) qp_.peer->latency.completion.record(now - w.posted);
  const std::optional<Completion> done = completions_.on_finished(w, status, qp_.qpn);
  sq_.pop_front();
  if (!done) return;
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kNone,
                    event::Complete{.wr_id = done->wr_id, .status = status, .bytes = done->byte_len});
  if (!qp_.sink.on_completion(*done)) completions_.on_undelivered();
}

void Requester::complete_below(Instant now, uint64_t end) {
  while (!sq_.empty() && sq_.front().end_seq() <= end) complete_front(now, WcStatus::kSuccess);
}

// The transport ACK of these may be lost or late. A write that cack_psn covers is in the peer's memory, and so is all
// before it; a WriteIMM may wait for a receive request there, and needs the transport ACK. The last request stays
// for the status: an application has to learn from a completion that its QP has failed.
void Requester::fail_unacknowledged(Instant now, WcStatus status, uint64_t expected) {
  const uint64_t arrived = std::min<uint64_t>(packets_.cumulative(), expected);
  while (sq_.size() > 1 && !sq_.front().with_imm && sq_.front().end_seq() <= arrived)
    complete_front(now, WcStatus::kSuccess);
  qp_.fail(now, status, AsyncEvent::kQpFatal);
}

void Requester::flush(Instant now, WcStatus first) {
  WcStatus status = first;
  while (!sq_.empty()) {
    complete_front(now, status);
    status = WcStatus::kFlushed;
  }
  end_sending();
  sent_.restart(sq_.end_seq());
  rotation_.on_all_left();
  packets_.restart(sq_.end_seq());
  probe_.cancel();
  rto_.cancel();
  lost_deadline_ = Instant::never();
}

void Requester::fill_status(QpStatus* s) const {
  if (congestion_ != nullptr) {
    const CongestionSnapshot congestion = congestion_->snapshot();
    s->cwnd = congestion.cwnd;
    // Its own count is below 0 by less than 256 when everything has arrived [MRC-NSCC-12], and above 0 where the last
    // SACK was lost.
    s->inflight = sent_.in_flight() == 0 ? 0 : std::max<int64_t>(congestion.inflight, 0);
    s->base_rtt = congestion.base_rtt;
  }
  s->srtt = rtt_.smoothed();
  s->outstanding_packets = static_cast<uint32_t>(sent_.nxt() - sent_.una());
  s->tx_packets = totals_.packets;
  s->retransmits = totals_.retransmits;
  s->timeouts = totals_.timeouts;
}

void Requester::check() const {
  sq_.check();
  sent_.check();
  packets_.check();
  rotation_.check();
  rtt_.check();
  detector_.check();
  probe_.check();
  rto_.check(qp_.state == QpState::kError);
  completions_.check(qp_.state == QpState::kError);
  MRC_INVARIANT(sent_.nxt() <= sq_.end_seq());
  MRC_INVARIANT(rotation_.in_flight() == sent_.in_flight());
  MRC_INVARIANT(sent_.all_arrived() || congestion_ != nullptr);
  MRC_INVARIANT(congestion_ == nullptr || congestion_->snapshot().cwnd > 0);
  // Every packet that is not known to have arrived has a timer.
  MRC_INVARIANT(qp_.state != QpState::kRts || sent_.all_arrived() || deadline() < Instant::never());
}

}  // namespace mrc::core
