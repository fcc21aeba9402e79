// Receiving. Every request packet is placed the moment it arrives, in whatever order, after its key, range and access
// have been checked; what has to be in order, completions and the message count, follows expected_ as it moves over the
// bitmap. [MRC-RSP-1..4, MRC-RSP-6..12]
#include "core/responder.h"

#include <algorithm>

#include "base/prefetch.h"
#include "core/endpoint_impl.h"
#include "core/placement.h"
#include "core/qp.h"
#include "wire/bytes.h"
#include "wire/udp.h"

namespace mrc::core {

void Responder::init(const QpCaps& caps) {
  uint64_t slots = 1;
  while (slots < caps.max_recv_wr) slots *= 2;
  recv_queue_.resize(slots);
  recv_mask_ = slots - 1;
  recv_limit_ = caps.max_recv_wr;
}

// [MRC-CHOICE-Q26]
void Responder::start() {
  window_ = 128u * std::max<uint32_t>(1, qp_.attr.mpr_dest);
}

void Responder::reset() {
  received_ = last_ = imm_ = RingBitmap();
  pending_imm_.clear();
  recv_head_ = recv_tail_ = 0;
  expected_ = max_seen_ = kOrigin;
  dirty_low_ = UINT64_MAX;
  dirty_high_ = 0;
  received_bytes_ = 0;
  ooo_ = msn_ = unsacked_bytes_ = imms_pending_ = imm_hint_ = 0;
  newest_ = Trigger();
  ack_deadline_ = Instant::never();
  named_count_ = 0;
  probe_pending_ = held_ = owes_ = sack_pending_ = ack_pending_ = nak_pending_ = false;
  fault_seq_ = UINT64_MAX;
  company_ = AckCompany();
}

Psn Responder::psn_of(uint64_t seq) const {
  return qp_.attr.rq_psn + static_cast<int32_t>((seq - kOrigin) & Psn::kMask);
}

PostResult Responder::post_recv(Instant now, uint64_t wr_id) {
  if (recv_tail_ - recv_head_ >= recv_limit_) return PostResult::kQueueFull;
  recv_queue_[recv_tail_++ & recv_mask_] = wr_id;
  if (held_ && (qp_.state == QpState::kRtr || qp_.state == QpState::kRts)) {
    advance(now);
    owe_now();
  }
  return PostResult::kOk;
}

void Responder::on_request(Instant now, const wire::Flow& flow, const wire::Packet& p, uint32_t udp_bytes) {
  EndpointImpl& ep = *qp_.ep;
  // [MRC-PSN-2]
  const int32_t delta = p.bth.psn - psn_of(expected_);
  if (delta < 0) {  // arrived before: never write again, say again what is known [MRC-RSP-4]
    ++ep.counters.rx_duplicates;
    ep.trace(now, qp_.qpn, TraceEvent::kDuplicate, TraceTrigger::kNone, p.bth.psn.value(), wire::ev_of(flow),
             wire::nominal_size(udp_bytes));
    ack_pending_ = true;
    trigger(now, flow, p, expected_ + static_cast<uint64_t>(static_cast<int64_t>(delta)), true);
    return;
  }
  if (static_cast<uint32_t>(delta) >= window_) {
    ++ep.counters.drop_window;
    ep.trace(now, qp_.qpn, TraceEvent::kDrop, TraceTrigger::kOutside,
             static_cast<uint64_t>(wire::NackReason::kPsnOorWindow), p.bth.psn.value());
    if (now - last_oor_nack_ < ep.config.ack_delay) return;  // at most one per ack_delay [MRC-CHOICE-Q5]
    last_oor_nack_ = now;
    ep.send_nack(now, &qp_, flow, p.bth.psn, p.tseth.tx_timestamp, wire::NackReason::kPsnOorWindow);
    return;
  }
  const uint64_t seq = expected_ + static_cast<uint32_t>(delta);
  if (received_.size() < window_) {
    last_.resize(window_);
    imm_.resize(window_);
    received_.resize(window_);
  }
  if (received_.test(seq)) {
    ++ep.counters.rx_duplicates;
    ep.trace(now, qp_.qpn, TraceEvent::kDuplicate, TraceTrigger::kNone, p.bth.psn.value(), wire::ev_of(flow),
             wire::nominal_size(udp_bytes));
    trigger(now, flow, p, seq, true);
    return;
  }

  // A fault is reported when everything before it is complete; what lies behind it is not executed [MRC-RSP-7].
  if (seq < fault_seq_) {
    uint8_t syndrome = 0;
    if (!place(p, &syndrome)) {
      ++ep.counters.drop_access;
      set_fault(seq, syndrome);
    } else if (wire::with_imm(p.bth.opcode) && !stash_imm(seq, p)) {
      set_fault(seq, wire::kSyndromeInvalidRequest);
    } else {
      if (wire::ends_message(p.bth.opcode)) last_.set(seq);
      if (wire::with_imm(p.bth.opcode)) imm_.set(seq);
      ++ep.counters.rx_data;
      ep.trace(now, qp_.qpn, TraceEvent::kRxData, TraceTrigger::kNone, p.bth.psn.value(), wire::ev_of(flow),
               wire::nominal_size(udp_bytes));
    }
  }
  received_.set(seq);
  ++rx_packets;
  ++ooo_;
  // [MRC-CHOICE-Q11] [MRC-NSCC-1]
  received_bytes_ += wire::nominal_size(udp_bytes);
  max_seen_ = std::max(max_seen_, seq + 1);
  dirty_low_ = std::min(dirty_low_, seq);
  dirty_high_ = std::max(dirty_high_, seq + 1);
  unsacked_bytes_ += std::max<uint32_t>(udp_bytes, 1024);
  if (seq == expected_) advance(now);
  if (qp_.state == QpState::kError) return;
  trigger(now, flow, p, seq, unsacked_bytes_ >= ep.config.sack_bytes);
}

bool Responder::place(const wire::Packet& p, uint8_t* syndrome) {
  const wire::Reth& reth = p.req.reth;
  const uint32_t n = p.payload_len;
  const bool must_be_full = !wire::ends_message(p.bth.opcode);
  if (n > qp_.attr.path_mtu || (must_be_full && n != qp_.attr.path_mtu) || n > reth.dmalen) {
    *syndrome = wire::kSyndromeInvalidRequest;
    return false;
  }
  if (reth.rkey == kMailboxKey) {  // [MRC-MBX-1]
    const Mailbox& box = qp_.mailbox;
    if (!box.present || n > box.length || reth.va > box.length - n) {
      *syndrome = wire::kSyndromeRemoteAccess;
      return false;
    }
    if (n > 0 && box.base != nullptr) place_bytes(box.base + reth.va, p.payload, n);
    return true;
  }
  if (n == 0) return true;  // a write of nothing needs no key [MRC-RSP-6]
  const MemoryRegion* mr = qp_.ep->memory.find(reth.rkey);
  if (mr == nullptr || mr->pd != qp_.pd || (mr->access & kAccessRemoteWrite) == 0 ||
      ((qp_.attr.access & kAccessRemoteWrite) == 0 && (mr->access & kAccessAnyQp) == 0) || !mr->covers(reth.va, n)) {
    *syndrome = wire::kSyndromeRemoteAccess;
    return false;
  }
  if (mr->base == nullptr) return true;
  uint8_t* const to = mr->at(reth.va);
  if (must_be_full) prefetch_for_write(to + n, n);  // where the next packet goes, most likely
  place_bytes(to, p.payload, n);
  return true;
}

// The immediate waits here until every earlier message is complete. RQMSN numbers the WriteIMMs, so it names the place;
// a place in use means that the peer has more of them in flight than it may [MRC-WIMM-2, MRC-CHOICE-Q27].
bool Responder::stash_imm(uint64_t seq, const wire::Packet& p) {
  if (pending_imm_.empty()) {
    size_t slots = 1;
    while (slots < qp_.attr.max_wimm_dest) slots *= 2;
    pending_imm_.resize(slots);
  }
  PendingImm& slot = pending_imm_[p.meth.rqmsn & (pending_imm_.size() - 1)];
  if (slot.used || imms_pending_ >= std::max<uint32_t>(1, qp_.attr.max_wimm_dest)) return false;
  ++imms_pending_;
  slot.seq = seq;
  uint8_t memory_order[4];
  wire::put32(memory_order, p.req.imm.data);
  std::memcpy(&slot.imm, memory_order, 4);
  slot.length = p.req.reth.dmalen;
  slot.mailbox = p.req.reth.rkey == kMailboxKey;
  slot.used = true;
  return true;
}

void Responder::set_fault(uint64_t seq, uint8_t syndrome) {
  fault_seq_ = seq;
  fault_syndrome_ = syndrome;
}

bool Responder::deliver_imm(Instant now, uint64_t seq, bool* waiting) {
  PendingImm* found = nullptr;
  for (size_t i = 0; i < pending_imm_.size() && found == nullptr; ++i) {
    PendingImm& slot = pending_imm_[(imm_hint_ + i) & (pending_imm_.size() - 1)];
    if (slot.used && slot.seq == seq) found = &slot;
  }
  if (found == nullptr) return true;
  if (!found->mailbox && recv_head_ == recv_tail_) {
    *waiting = true;
    return true;
  }
  Completion c;
  c.mailbox = found->mailbox;
  c.wr_id = found->mailbox ? qp_.mailbox.wr_id : recv_queue_[recv_head_++ & recv_mask_];
  c.is_recv = true;
  c.with_imm = true;
  c.solicited = true;  // MRC carries no solicited bit: every immediate counts as solicited [MRC-RSP-9]
  c.qpn = qp_.qpn;
  c.byte_len = found->length;
  c.imm = found->imm;
  found->used = false;
  --imms_pending_;
  imm_hint_ = static_cast<uint32_t>(found - pending_imm_.data()) + 1;  // they come in the order of RQMSN
  qp_.ep->trace(now, qp_.qpn, TraceEvent::kComplete, TraceTrigger::kNone, c.wr_id, static_cast<uint64_t>(c.status),
                c.byte_len, 1);
  return qp_.ep->sink->on_completion(qp_.cookie, c);
}

void Responder::advance(Instant now) {
  EndpointImpl& ep = *qp_.ep;
  held_ = false;
  while (expected_ < max_seen_ && received_.test(expected_)) {
    if (expected_ == fault_seq_) {
      nak_pending_ = true;
      owe_now();
      ep.enter_error(
          now, &qp_, WcStatus::kFlushed,
          fault_syndrome_ == wire::kSyndromeRemoteAccess ? AsyncEvent::kQpAccessError : AsyncEvent::kQpRequestError);
      return;
    }
    if (imm_.test(expected_)) {
      bool waiting = false;
      if (!deliver_imm(now, expected_, &waiting)) {  // the CQ is full: the completion is lost, and with it the QP
        set_fault(expected_, wire::kSyndromeRemoteOperation);
        continue;
      }
      if (waiting) {
        if (!ep.config.hold_without_recv_wqe) {
          set_fault(expected_, wire::kSyndromeInvalidRequest);
          continue;
        }
        // expected_ stays: the window closes by itself and the requester waits [MRC-RSP-8].
        ++ep.counters.wimm_held;
        held_ = true;
        return;
      }
      imm_.clear(expected_);
    }
    if (last_.test(expected_)) {
      msn_ = (msn_ + 1) & Psn::kMask;
      last_.clear(expected_);
      ack_pending_ = true;
      company_.on_message();
    }
    received_.clear(expected_);
    --ooo_;
    ++expected_;
  }
}

void Responder::trigger(Instant now, const wire::Flow& flow, const wire::Packet& p, uint64_t seq, bool now_please) {
  Trigger t;
  t.seq = seq;
  t.ev = wire::ev_of(flow);
  t.has_timestamp = p.bth.ts;
  t.timestamp = p.tseth.tx_timestamp;
  t.ce = flow.ecn() == wire::Ecn::kCe;
  t.rtx = p.bth.rtx;
  t.arrived = now;
  if (t.ce) {
    ++qp_.ep->counters.rx_ecn;
    if (named_count_ < kMaxNamed) named_[named_count_++] = t;
  }
  newest_ = t;
  sack_pending_ = true;
  if (p.bth.ack_req) ack_pending_ = true;
  // The triggers of [MRC-SACK-5]: bytes, AckReq, CE, retransmission; the probe has its own way.
  // [MRC-CHOICE-Q15] [MRC-CHOICE-Q16]
  if (now_please || p.bth.ack_req || t.ce || t.rtx) {
    owe_now();
  } else if (!owes_ && ack_deadline_ > now + qp_.ep->config.ack_delay) {
    ack_deadline_ = now + qp_.ep->config.ack_delay;
    qp_.rearm();
  }
}

void Responder::owe_now() {
  sack_pending_ = true;
  owes_ = true;
  qp_.ep->make_control(&qp_);
}

void Responder::flush_acks() {
  if (sack_pending_ || ack_pending_) owe_now();
}

void Responder::repeat_ack(Instant since) {
  if (expected_ == kOrigin || newest_.arrived < since) return;
  ack_pending_ = true;
  owe_now();
}

void Responder::on_timer(Instant now) {
  if (ack_deadline_ > now) return;
  ack_deadline_ = Instant::never();
  company_.on_silence();
  flush_acks();
}

void Responder::on_trimmed(Instant now, const wire::Flow& flow, const wire::Packet& p, bool last_hop) {
  const int32_t delta = p.bth.psn - psn_of(expected_);
  if (delta >= 0 && static_cast<uint32_t>(delta) >= window_) return;
  if (delta < 0 || (received_.size() >= window_ && received_.test(expected_ + static_cast<uint32_t>(delta)))) {
    trigger(now, flow, p, expected_ + static_cast<uint64_t>(static_cast<int64_t>(delta)),
            true);  // it has arrived already: a SACK
    return;
  }
  qp_.ep->send_nack(now, &qp_, flow, p.bth.psn, p.tseth.tx_timestamp,
                    last_hop ? wire::NackReason::kTrimmedLastHop : wire::NackReason::kTrimmed);
}

void Responder::on_probe(Instant now, const wire::Flow& flow, const wire::Packet& p) {
  probe_.ev = wire::ev_of(flow);
  probe_.timestamp = p.peth.timestamp.tx_timestamp;
  probe_.has_timestamp = true;
  probe_.ce = flow.ecn() == wire::Ecn::kCe;
  probe_.arrived = now;
  probe_id_ = p.peth.probe_id;
  probe_pending_ = true;
  // The answer is complete: everything above expected_ is reported again, and so is the transport ACK [MRC-PROBE-4].
  dirty_low_ = expected_;
  dirty_high_ = max_seen_;
  ack_pending_ = true;
  owe_now();
}

void Responder::on_packet_in_error(Instant now, const wire::Flow& flow, const wire::Packet& p) {
  if (faulted()) {
    nak_pending_ = true;
    owe_now();
    return;
  }
  // What is complete stays complete and is acknowledged again; for the rest there is no hope, and the peer shall know.
  // In this order: the other way round, what was complete would fail there.
  if (!wire::is_request(p.bth.opcode)) {
    on_probe(now, flow, p);
  } else if (p.bth.psn < psn_of(expected_)) {
    ack_pending_ = true;
    trigger(now, flow, p, expected_ - 1, true);
    return;
  }
  if (now - last_oor_nack_ < qp_.ep->config.ack_delay) return;
  last_oor_nack_ = now;
  uint16_t ev;
  if (expected_ != kOrigin && qp_.peer->paths.pick_answer(UINT32_MAX, &ev))
    qp_.ep->send_ack(now, *qp_.peer, ev, transport_ack(false));
  qp_.ep->send_nack(now, &qp_, flow, psn_of(expected_), 0, wire::NackReason::kUnexpEvent);
}

void Responder::flush() {
  while (recv_head_ != recv_tail_) {
    Completion c;
    c.wr_id = recv_queue_[recv_head_++ & recv_mask_];
    c.status = WcStatus::kFlushed;
    c.is_recv = true;
    c.qpn = qp_.qpn;
    qp_.ep->sink->on_completion(qp_.cookie, c);
  }
}

}  // namespace mrc::core
