// Sending: which packets may leave, in which order, and how a burst of them is laid out.
//
// A burst takes lost packets first, then new ones, as far as the congestion window, the peer's MPR window and the
// WriteIMM limit allow. All of it leaves on one EV, which is chosen here, at send time. Packets of a burst have one
// size; a shorter one ends it, a longer one begins the next burst.
#include "core/requester.h"

#include <algorithm>

#include "core/burst_builder.h"
#include "core/congestion/registry.h"
#include "core/control_queue.h"
#include "core/flows.h"
#include "core/path_prober.h"
#include "core/peer.h"
#include "core/tx_scheduler.h"
#include "wire/bytes.h"
#include "wire/udp.h"

namespace mrc::core {

const CongestionConfig& Requester::congestion_config() const {
  return qp_.attr.congestion != nullptr ? *qp_.attr.congestion : qp_.engine.config.congestion;
}

void Requester::start(Instant now) {
  const QpAttr& a = qp_.attr;
  const EndpointConfig& c = qp_.engine.config;
  full_nominal_ = wire::nominal_size(wire::packet_bytes(wire::Opcode::kWriteMiddle, c.timestamps, a.path_mtu));
  CongestionFlow flow;
  flow.mtu = full_nominal_;
  flow.trimming = c.trimming && a.trim_nack;
  flow.ack_bytes = c.sack_bytes;  // the peer's own is not known
  congestion_ = make_congestion_control(congestion_config(), flow, now);
  meter_generation_ = 0;
  if (qp_.peer != nullptr) follow_meter();
  window_psns_ = 128u * std::max<uint32_t>(1, a.mpr);
}

void Requester::reset() {
  sq_.reset();
  if (window_) qp_.engine.windows.give(std::move(window_));
  rotation_.reset();
  una_ = nxt_ = cack_next_ = highest_acked_ = lost_hint_ = hint_ = retx_hint_ = 0;
  lost_count_ = flight_ = wimm_inflight_ = unsignaled_run_ = attempts_ = probe_backoff_ = 0;
  cq_overrun_ = false;
  probe_outstanding_ = false;
  rto_deadline_ = probe_deadline_ = lost_deadline_ = Instant::never();
  rtt_ = RttEstimator();
  detector_ = LossDetector();
}

PostResult Requester::post(const SendWr& wr) {
  return sq_.post(wr, qp_.attr.path_mtu);
}

// The requester stays one short of the window's end, right under both readings of the rule [MRC-CHOICE-Q6].
uint64_t Requester::new_limit() const {
  return std::min(sq_.end_seq(), cack_next_ + window_psns_ - 1);
}

bool Requester::next_lost(uint64_t from, uint64_t* seq) {
  if (lost_count_ == 0) return false;
  for (uint64_t s = std::max(from, lost_hint_); s < nxt_; ++s) {
    if (!(*window_)[s].lost) continue;
    *seq = s;
    return true;
  }
  return false;
}

namespace {
wire::Opcode opcode_of(const Wqe& w, uint64_t k) {
  const bool first = k == 0;
  const bool last = k + 1 == w.packets;
  if (first && last) return w.with_imm ? wire::Opcode::kWriteOnlyImm : wire::Opcode::kWriteOnly;
  if (first) return wire::Opcode::kWriteFirst;
  if (last) return w.with_imm ? wire::Opcode::kWriteLastImm : wire::Opcode::kWriteLast;
  return wire::Opcode::kWriteMiddle;
}
}  // namespace

// [MRC-REQ-2] [MRC-REQ-3]
Requester::Build Requester::build(Instant now, uint32_t planes_with_room, TxBurst* out, BurstBuilder* builder) {
  EngineContext& ep = qp_.engine;
  const EndpointConfig& c = ep.config;
  const QpAttr& a = qp_.attr;
  if (!window_) {
    if (nxt_ >= new_limit()) return Build::kNothing;
    window_ = ep.windows.take(window_psns_ + 1);
    window_first_ = nxt_;
  }
  uint64_t seq = 0;
  const bool retransmit = next_lost(una_, &seq);
  if (retransmit) {
    lost_hint_ = seq;
  } else {
    seq = nxt_;
  }

  PeerPaths& paths = qp_.peer->paths;
  uint16_t ev = 0;
  bool flow_set = false;
  const uint32_t max_segments = std::min(std::max<uint32_t>(1, c.max_segments), kMaxSegments);
  const uint32_t max_bytes = std::min(std::max<uint32_t>(c.max_burst_bytes, 9000), kMaxBurstBytes);
  wire::Bth bth;
  bth.dqp = a.dest_qpn;
  bth.pkey = a.pkey;
  bth.rtx = retransmit;
  wire::Tseth tseth;
  tseth.tx_timestamp = wire::timestamp_of(now);
  bool window_full = false;
  bool ask = false;

  while (out->segments < max_segments) {
    if (retransmit) {
      if (out->segments > 0 && !next_lost(seq + 1, &seq)) break;
    } else if (seq >= new_limit()) {
      window_full = true;
      break;
    }
    const Wqe& w = sq_.find(seq, retransmit ? &retx_hint_ : &hint_);
    const uint64_t k = seq - w.first_seq;
    const uint64_t offset = k * a.path_mtu;
    const uint32_t payload = static_cast<uint32_t>(std::min<uint64_t>(a.path_mtu, w.length - offset));
    const wire::Opcode op = opcode_of(w, k);
    const bool starts_wimm = !retransmit && w.with_imm && k == 0;
    if (starts_wimm && wimm_inflight_ >= a.max_wimm)
      break;  // queued at the sender, never refused [MRC-WIMM-3] [API-POST-5]
    const uint32_t size = wire::packet_bytes(op, c.timestamps, payload);
    if (out->segments > 0 && (size > out->segment_size || out->bytes + size > max_bytes)) break;
    const auto nominal = static_cast<uint16_t>(wire::nominal_size(size));
    // What congestion control counts as in flight comes from the receiver's byte count and lags when the last SACK is
    // lost. With nothing really under way one packet may always leave, and its SACK puts the count right [MRC-NSCC-10].
    if (!congestion_->can_send(nominal) && flight_ > 0) {
      window_full = true;
      break;
    }
    if (!builder->room(w.inline_data ? 1u : w.num_sge)) break;
    if (!flow_set) {
      if (!rotation_.next(&paths, planes_with_room, &ev, a.evs.get())) return Build::kNoRoom;
      ep.trace(now, qp_.qpn, TraceEvent::kEvChosen, rotation_.why(), c.evs[ev].value, c.evs[ev].plane,
               rotation_.passed_skipped(), rotation_.passed_full());
      // Where switches trim they know the packets to be trimmed by code points that no AV may change [MRC-REQ-10].
      uint8_t dscp = a.traffic_class != 0 ? static_cast<uint8_t>(a.traffic_class >> 2) : c.dscp.no_trim;
      if (c.trimming && a.trim_nack) dscp = retransmit ? c.dscp.trimmable_retx : c.dscp.trimmable;
      set_flow(ep.config, qp_.peer->description, ev, dscp, out);
      flow_set = true;
    }

    iovec pieces[kMaxIov];
    const int n =
        sq_.gather(w, offset, payload, ep.memory, qp_.pd, pieces, static_cast<int>(kMaxIov - out->iov_count - 2));
    if (n < 0) {
      // Earlier requests are still on their way and may succeed: the error waits until this one is the oldest. What is
      // laid out already may leave [MRC-REQ-8].
      if (out->segments > 0) break;
      if (&w != &sq_.front()) return Build::kNothing;
      qp_.fail(now, WcStatus::kLocalProtection, AsyncEvent::kQpFatal);
      return Build::kNothing;
    }
    bth.psn = a.sq_psn + static_cast<int32_t>(seq & Psn::kMask);
    bth.pad = wire::pad_for(payload);
    wire::Meth meth;
    meth.msn = w.msn;
    meth.rqmsn = w.rqmsn;
    wire::Reth reth;
    reth.va = w.remote_addr + offset;
    reth.rkey = w.rkey;
    reth.dmalen = w.length;
    const uint32_t imm = wire::get32(reinterpret_cast<const uint8_t*>(&w.imm));
    const uint32_t header_len =
        wire::encode_request_headers(builder->header(), op, bth, meth, c.timestamps ? &tseth : nullptr, reth, &imm);
    builder->add(header_len, pieces, n, payload);

    TxRecord& r = (*window_)[seq];
    if (retransmit) {
      r.lost = false;
      --lost_count_;
      lost_hint_ = seq + 1;
      r.on_sent_again(now);
    } else {
      r.on_sent(now);
      if (seq == una_) waiting_since_ = now;
      nxt_ = seq + 1;
      if (starts_wimm) ++wimm_inflight_;
    }
    r.ev = ev;
    r.nominal = nominal;
    ++flight_;
    ask = ask || congestion_->wants_ack(nominal);
    congestion_->on_sent(nominal);
    if (retransmit) {
      ep.trace(now, qp_.qpn, TraceEvent::kRetransmit, r.lost_by, bth.psn.value(), c.evs[ev].value, c.evs[ev].plane,
               r.sends);
    } else {
      ep.trace(now, qp_.qpn, TraceEvent::kTxData, TraceTrigger::kNone, bth.psn.value(), c.evs[ev].value,
               c.evs[ev].plane, nominal);
    }
    const bool last_of_burst = size < out->segment_size;
    if (!retransmit) ++seq;
    if (last_of_burst) break;
  }
  if (out->segments == 0) return Build::kNothing;

  // The window is closed or nearly so: an acknowledgement at once keeps it moving [MRC-NSCC-10]. [MRC-REQ-4]
  if (ask || (window_full && nxt_ < sq_.end_seq())) builder->set_ack_req_on_last();
  const uint32_t sent = out->segments;
  ep.counters.tx_data += sent;
  tx_packets += sent;
  if (retransmit) {
    ep.counters.retransmits += sent;
    ep.plane_counters[out->plane].retransmits += sent;
    retransmits += sent;
  }
  arm_rto(now);
  arm_probe(now);
  qp_.set_deadline(QpHalf::kRequester, deadline());
  return Build::kSent;
}

void Requester::complete_front(Instant now, WcStatus status) {
  const Wqe& w = sq_.front();
  if (w.with_imm && w.first_seq < nxt_) --wimm_inflight_;
  if (status == WcStatus::kSuccess && !w.signaled) {
    ++unsignaled_run_;
    sq_.pop_front();
    return;
  }
  Completion done;
  done.wr_id = w.wr_id;
  done.status = status;
  done.qpn = qp_.qpn;
  done.byte_len = w.length;
  done.with_imm = w.with_imm;
  done.send_op = w.with_imm ? SendOp::kWriteImm : SendOp::kWrite;
  done.slots = unsignaled_run_ + 1;
  unsignaled_run_ = 0;
  sq_.pop_front();
  qp_.engine.trace(now, qp_.qpn, TraceEvent::kComplete, TraceTrigger::kNone, done.wr_id, static_cast<uint64_t>(status),
                   done.byte_len, 0);
  if (!qp_.engine.sink.on_completion(qp_.cookie, done)) cq_overrun_ = true;
}

void Requester::complete_below(Instant now, uint64_t end) {
  while (!sq_.empty() && sq_.front().end_seq() <= end) complete_front(now, WcStatus::kSuccess);
}

void Requester::flush(Instant now, WcStatus first) {
  WcStatus status = first;
  while (!sq_.empty()) {
    complete_front(now, status);
    status = WcStatus::kFlushed;
  }
  if (window_) qp_.engine.windows.give(std::move(window_));
  una_ = nxt_ = cack_next_ = highest_acked_ = lost_hint_ = sq_.end_seq();
  lost_count_ = flight_ = 0;
  wimm_inflight_ = 0;
  rto_deadline_ = probe_deadline_ = lost_deadline_ = Instant::never();
}

void Requester::fill_status(QpStatus* s) const {
  if (congestion_ != nullptr) {
    const CongestionSnapshot congestion = congestion_->snapshot();
    s->cwnd = congestion.cwnd;
    s->inflight = congestion.inflight;
    s->base_rtt = congestion.base_rtt;
  }
  s->srtt = rtt_.smoothed();
  s->outstanding_packets = static_cast<uint32_t>(nxt_ - una_);
  s->tx_packets = tx_packets;
  s->retransmits = retransmits;
  s->timeouts = timeouts;
}

}  // namespace mrc::core
