// Receiving. Every request packet is placed the moment it arrives, in whatever order, after it was found to fit its
// message and its key, range and access have been checked; what has to be in order, completions and the message count,
// follows expected_ as it moves over the bitmap. [MRC-RSP-1..4, MRC-RSP-6..12, MRC-SEC-1..6]
#include "core/responder.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "base/prefetch.h"
#include "core/control_queue.h"
#include "core/flows.h"
#include "core/path_prober.h"
#include "core/peer.h"
#include "core/placement.h"
#include "core/tx_scheduler.h"
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
  received_ = RingBitmap();
  messages_.reset();
  mailbox_content_.clear();
  pending_imm_.clear();
  recv_head_ = recv_tail_ = 0;
  expected_ = max_seen_ = kOrigin;
  dirty_low_ = UINT64_MAX;
  dirty_high_ = again_low_ = again_high_ = 0;
  received_bytes_ = 0;
  ooo_ = msn_ = unsacked_bytes_ = imms_pending_ = imm_hint_ = 0;
  newest_ = Trigger();
  ack_deadline_ = Instant::never();
  named_count_ = 0;
  probe_pending_ = held_ = owes_ = sack_pending_ = ack_pending_ = nak_pending_ = false;
  faulted_ = rqmsn_known_ = false;
  company_ = AckCompany();
}

namespace {
// Of a write to the mailbox, whose key is no secret, what it wrote is compared as well: a hash beside the packet's
// number.
uint64_t content_of(const wire::Packet& p, uint64_t seq) {
  const absl::string_view bytes(reinterpret_cast<const char*>(p.payload), p.payload_len);
  return seq << 32 | static_cast<uint32_t>(absl::HashOf(bytes));
}
}  // namespace

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

bool Responder::on_request(Instant now, const wire::Flow& flow, const wire::Packet& p, uint32_t udp_bytes) {
  EngineContext& ep = qp_.engine;
  // [MRC-PSN-2]
  const int32_t delta = p.bth.psn - psn_of(expected_);
  if (delta >= 0 && static_cast<uint32_t>(delta) >= window_) {
    ep.report(now, qp_.qpn, TraceTrigger::kOutside,
              event::Drop{.reason = wire::NackReason::kPsnOorWindow, .psn = p.bth.psn});
    if (now - last_refusal_ < ep.config.ack_delay) return false;  // at most one per ack_delay [MRC-CHOICE-Q5]
    last_refusal_ = now;
    send_nack(now, flow, p.bth.psn, p.tseth.tx_timestamp, wire::NackReason::kPsnOorWindow);
    return false;
  }
  const uint64_t seq = expected_ + static_cast<uint64_t>(static_cast<int64_t>(delta));
  if (!messages_.allocated()) {
    received_.resize(window_);
    messages_.allocate();
  }

  const wire::Reth& reth = p.req.reth;
  const uint32_t mtu = qp_.attr.path_mtu;
  MessageClaim claim;
  claim.seq = seq;
  claim.packets = reth.dmalen <= mtu ? 1 : (reth.dmalen - 1) / mtu + 1;
  claim.identity = reth.va - seq * mtu + (static_cast<uint64_t>(reth.rkey) << 32 | reth.dmalen) * ep.message_secret;
  claim.msn = p.meth.msn;
  claim.begins = wire::begins_message(p.bth.opcode);
  claim.ends = wire::ends_message(p.bth.opcode);
  claim.with_imm = wire::with_imm(p.bth.opcode);
  if (claim.with_imm) claim.detail = p.req.imm.data ^ (static_cast<uint32_t>(p.meth.rqmsn) * 0x9E3779B1u);
  if (__builtin_expect(!well_shaped(p, claim.packets), 0)) {
    // Of a message that begins here and is next, it is the peer's mistake; anything else could be anybody's.
    if (seq == expected_ && messages_.is_next(seq, claim.msn) && !messages_.knows(claim.msn))
      return refuse(now, p, seq, wire::kSyndromeInvalidRequest);
    return on_misfit(now, p, {MessageMap::Fit::kMisfit, true, false, 0, 0}, seq);
  }
  const MessageMap::Verdict verdict = messages_.check(claim);
  if (__builtin_expect(verdict.fit == MessageMap::Fit::kMisfit, 0)) return on_misfit(now, p, verdict, seq);

  if (delta < 0 || received_.test(seq)) {  // arrived before: never write again, say again what is known [MRC-RSP-4]
    if (reth.rkey == kMailboxKey && verdict.fit == MessageMap::Fit::kMember && !same_content(p, seq)) {
      contradict(now, seq);
      return false;
    }
    ep.report(now, qp_.qpn, TraceTrigger::kNone,
              event::Duplicate{.psn = p.bth.psn, .ev = wire::ev_of(flow), .size = wire::nominal_size(udp_bytes)});
    if (delta < 0) ack_pending_ = true;
    trigger(now, flow, p, seq, true);
    return true;
  }

  uint8_t* to = nullptr;
  if (__builtin_expect(!find_place(p, &to), 0)) return refuse(now, p, seq, wire::kSyndromeRemoteAccess);
  // Allocations come before anything that changes: without memory the packet is as good as lost, and is sent again.
  const bool mailbox = reth.rkey == kMailboxKey;
  if (mailbox && p.payload_len > 0 && mailbox_content_.empty()) mailbox_content_.resize(received_.size());
  messages_.make_room(claim, verdict);
  PendingImm* slot = nullptr;
  if (claim.with_imm) {
    slot = slot_for(p);
    if (slot == nullptr) return refuse(now, p, seq, wire::kSyndromeInvalidRequest);
    slot->seq = seq;
  }
  if (to != nullptr) {
    if (!claim.ends) prefetch_for_write(to + p.payload_len, p.payload_len);  // where the next packet goes, most likely
    place_bytes(to, p.payload, p.payload_len);
  }
  if (mailbox && p.payload_len > 0) mailbox_content_[seq & (mailbox_content_.size() - 1)] = content_of(p, seq);
  messages_.accept(claim, verdict, p.payload_len > 0 && !mailbox);
  ep.report(now, qp_.qpn, TraceTrigger::kNone,
            event::RxData{.psn = p.bth.psn, .ev = wire::ev_of(flow), .size = wire::nominal_size(udp_bytes)});
  received_.set(seq);
  ++rx_packets_;
  ++ooo_;
  // [MRC-CHOICE-Q11] [MRC-NSCC-1]
  received_bytes_ += wire::nominal_size(udp_bytes);
  max_seen_ = std::max(max_seen_, seq + 1);
  dirty_low_ = std::min(dirty_low_, seq);
  dirty_high_ = std::max(dirty_high_, seq + 1);
  unsacked_bytes_ += std::max<uint32_t>(udp_bytes, 1024);
  if (seq == expected_) advance(now);
  if (qp_.state == QpState::kError) return true;
  trigger(now, flow, p, seq, unsacked_bytes_ >= ep.config.sack_bytes);
  return true;
}

// Every packet but the last is full, and the last holds what remains.
bool Responder::well_shaped(const wire::Packet& p, uint32_t packets) const {
  const uint32_t mtu = qp_.attr.path_mtu;
  const bool begins = wire::begins_message(p.bth.opcode), ends = wire::ends_message(p.bth.opcode);
  if (!ends) return p.payload_len == mtu && packets >= (begins ? 2u : 3u);
  return (packets == 1) == begins && p.payload_len == p.req.reth.dmalen - (packets - 1) * mtu;
}

bool Responder::find_place(const wire::Packet& p, uint8_t** to) const {
  const wire::Reth& reth = p.req.reth;
  const uint32_t n = p.payload_len;
  if (reth.rkey == kMailboxKey) {  // [MRC-MBX-1]
    const Mailbox& box = qp_.mailbox;
    if (!box.present || n > box.length || reth.va > box.length - n) return false;
    if (n > 0 && box.base != nullptr) *to = box.base + reth.va;
    return true;
  }
  if (n == 0) return true;  // a write of nothing needs no key [MRC-RSP-6]
  const MemoryRegion* mr = qp_.engine.memory.find(reth.rkey);
  if (mr == nullptr || mr->pd != qp_.pd || (mr->access & kAccessRemoteWrite) == 0 ||
      ((qp_.attr.access & kAccessRemoteWrite) == 0 && (mr->access & kAccessAnyQp) == 0) || !mr->covers(reth.va, n))
    return false;
  if (mr->base != nullptr) *to = mr->at(reth.va);
  return true;
}

bool Responder::same_content(const wire::Packet& p, uint64_t seq) const {
  if (p.payload_len == 0 || mailbox_content_.empty()) return true;
  const uint64_t kept = mailbox_content_[seq & (mailbox_content_.size() - 1)];
  return kept >> 32 != (seq & UINT32_MAX) || kept == content_of(p, seq);
}

// A packet that may not do what it asks for. It is answered when everything before it is complete, because only then is
// it known to be the peer's; until then it changes nothing and the peer sends it again [MRC-RSP-7] [MRC-SEC-4].
bool Responder::refuse(Instant now, const wire::Packet& p, uint64_t seq, uint8_t syndrome) {
  EngineContext& ep = qp_.engine;
  ep.report(now, qp_.qpn, TraceTrigger::kRefused, event::Drop{.psn = p.bth.psn});
  if (seq != expected_) return false;
  fail(now, seq, syndrome,
       syndrome == wire::kSyndromeRemoteAccess ? AsyncEvent::kQpAccessError : AsyncEvent::kQpRequestError);
  return true;
}

// Either this packet or one that was accepted was not sent by the peer. A valid key decides; between packets that need
// none, the one that could well be the peer's puts the other in doubt. All else is dropped [MRC-SEC-2] [MRC-SEC-3].
bool Responder::on_misfit(Instant now, const wire::Packet& p, const MessageMap::Verdict& v, uint64_t seq) {
  EngineContext& ep = qp_.engine;
  ep.report(now, qp_.qpn, TraceTrigger::kMisfit, event::Drop{.psn = p.bth.psn});
  uint8_t* to = nullptr;
  const uint32_t packets = p.req.reth.dmalen <= qp_.attr.path_mtu ? 1 : (p.req.reth.dmalen - 1) / qp_.attr.path_mtu + 1;
  const bool keyed =
      p.payload_len > 0 && p.req.reth.rkey != kMailboxKey && well_shaped(p, packets) && find_place(p, &to);
  const bool next = seq == expected_ && messages_.is_next(seq, p.meth.msn);
  if (keyed || (!v.against_proven && (v.same_place || next))) contradict(now, seq);
  return false;
}

// The immediate waits here until every earlier message is complete. RQMSN numbers the WriteIMMs, so it names the place;
// a place in use means that the peer has more of them in flight than it may [MRC-WIMM-2, MRC-CHOICE-Q27].
Responder::PendingImm* Responder::slot_for(const wire::Packet& p) {
  if (pending_imm_.empty()) {
    size_t slots = 1;
    while (slots < qp_.attr.max_wimm_dest) slots *= 2;
    pending_imm_.resize(slots);
  }
  PendingImm& slot = pending_imm_[p.meth.rqmsn & (pending_imm_.size() - 1)];
  if (slot.used || imms_pending_ >= std::max<uint32_t>(1, qp_.attr.max_wimm_dest)) return nullptr;
  ++imms_pending_;
  uint8_t memory_order[4];
  wire::put32(memory_order, p.req.imm.data);
  std::memcpy(&slot.imm, memory_order, 4);
  slot.length = p.req.reth.dmalen;
  slot.rqmsn = p.meth.rqmsn;
  slot.mailbox = p.req.reth.rkey == kMailboxKey;
  slot.used = true;
  return &slot;
}

void Responder::fail(Instant now, uint64_t seq, uint8_t syndrome, AsyncEvent event) {
  faulted_ = true;
  fault_seq_ = seq;
  fault_syndrome_ = syndrome;
  nak_pending_ = true;
  owe_now();
  qp_.fail(now, WcStatus::kFlushed, event);
}

// Two packets exclude each other, and one of them was accepted: what is in memory cannot be trusted. The peer is told
// at the older of the doubtful packet and the first that is missing, so that nothing from there on succeeds
// [MRC-SEC-3].
void Responder::contradict(Instant now, uint64_t seq) {
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kContradicted, event::Drop{.psn = psn_of(seq)});
  fail(now, std::min(seq, expected_), wire::kSyndromeRemoteOperation, AsyncEvent::kQpContradicted);
}

Responder::Delivery Responder::deliver_imm(Instant now, uint64_t seq) {
  PendingImm* found = nullptr;
  for (size_t i = 0; i < pending_imm_.size() && found == nullptr; ++i) {
    PendingImm& slot = pending_imm_[(imm_hint_ + i) & (pending_imm_.size() - 1)];
    if (slot.used && slot.seq == seq) found = &slot;
  }
  if (found == nullptr || (rqmsn_known_ && found->rqmsn != static_cast<uint16_t>(last_rqmsn_ + 1)))
    return Delivery::kOutOfOrder;  // [MRC-METH-2]
  if (!found->mailbox && recv_head_ == recv_tail_) return Delivery::kWaits;
  last_rqmsn_ = found->rqmsn;
  rqmsn_known_ = true;
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
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kNone,
                    event::Complete{.wr_id = c.wr_id, .status = c.status, .bytes = c.byte_len, .receive = true});
  return qp_.engine.sink.on_completion(qp_.cookie, c) ? Delivery::kDone : Delivery::kLost;
}

void Responder::advance(Instant now) {
  EngineContext& ep = qp_.engine;
  held_ = false;
  while (expected_ < max_seen_ && received_.test(expected_)) {
    if (!messages_.in_front() && !messages_.begin_front(expected_)) return contradict(now, expected_);
    if (expected_ == messages_.front_end()) {
      if (!messages_.front_whole()) return contradict(now, expected_);
      if (messages_.front_with_imm()) {
        switch (deliver_imm(now, expected_)) {
          case Delivery::kDone:
            break;
          case Delivery::kWaits:
            if (!ep.config.hold_without_recv_wqe)
              return fail(now, expected_, wire::kSyndromeInvalidRequest, AsyncEvent::kQpRequestError);
            // expected_ stays: the window closes by itself and the requester waits [MRC-RSP-8].
            ++ep.counters.wimm_held;
            held_ = true;
            return;
          case Delivery::kLost:  // the CQ is full: the completion is lost, and with it the QP
            return fail(now, expected_, wire::kSyndromeRemoteOperation, AsyncEvent::kQpRequestError);
          case Delivery::kOutOfOrder:
            return contradict(now, expected_);
        }
      }
      messages_.finish_front();
      msn_ = (msn_ + 1) & Psn::kMask;
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
    ++qp_.engine.counters.rx_ecn;
    if (named_count_ < kMaxNamed) named_[named_count_++] = t;
  }
  newest_ = t;
  sack_pending_ = true;
  if (p.bth.ack_req) ack_pending_ = true;
  // The triggers of [MRC-SACK-5]: bytes, AckReq, CE, retransmission; the probe has its own way.
  // [MRC-CHOICE-Q15] [MRC-CHOICE-Q16]
  if (now_please || p.bth.ack_req || t.ce || t.rtx) {
    owe_now();
  } else if (!owes_ && ack_deadline_ > now + qp_.engine.config.ack_delay) {
    ack_deadline_ = now + qp_.engine.config.ack_delay;
    qp_.set_deadline(QpHalf::kResponder, deadline());
  }
}

void Responder::owe_now() {
  sack_pending_ = true;
  owes_ = true;
  qp_.services.scheduler.make_owing(&qp_);
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
  if (delta < 0 || (messages_.allocated() && received_.test(expected_ + static_cast<uint32_t>(delta)))) {
    trigger(now, flow, p, expected_ + static_cast<uint64_t>(static_cast<int64_t>(delta)),
            true);  // it has arrived already: a SACK
    return;
  }
  send_nack(now, flow, p.bth.psn, p.tseth.tx_timestamp,
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
  if (now - last_refusal_ < qp_.engine.config.ack_delay) return;
  last_refusal_ = now;
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
    const int32_t delta = p.bth.psn - psn_of(expected_);
    trigger(now, flow, p, expected_ + static_cast<uint64_t>(static_cast<int64_t>(delta)), true);
    return;
  }
  uint16_t ev;
  if (expected_ != kOrigin && qp_.peer->paths.pick_answer(UINT32_MAX, &ev))
    send_ack(now, &qp_.engine, &qp_.services.control, *qp_.peer, ev, transport_ack(false));
  send_nack(now, flow, psn_of(expected_), 0, wire::NackReason::kUnexpEvent);
}

void Responder::flush() {
  while (recv_head_ != recv_tail_) {
    Completion c;
    c.wr_id = recv_queue_[recv_head_++ & recv_mask_];
    c.status = WcStatus::kFlushed;
    c.is_recv = true;
    c.qpn = qp_.qpn;
    qp_.engine.sink.on_completion(qp_.cookie, c);
  }
}

}  // namespace mrc::core
