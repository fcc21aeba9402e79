// Receiving. Every request packet is accepted on arrival, in any order, after checks that it fits its message and of
// its key, range and access, and its payload is written then or, where it has to be in order, in its turn.
// [MRC-RSP-1..4, MRC-RSP-6..12, MRC-RSP-15, MRC-SEC-1..6]
#include "core/responder.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/prefetch.h"
#include "core/control_queue.h"
#include "core/peer.h"
#include "core/placement.h"
#include "memory_guard.h"
#include "wire/bytes.h"
#include "wire/udp.h"

namespace mrc::core {

namespace {
// Time for the thread that serves the mailbox to get a processor on a host with other work, and for its answer to
// arrive. It is also the limit where the owner has ended, or does not report its answers. Meanwhile the peer
// retransmits after each of its probes, at intervals that double up to 32 ms: some twenty packets, each over another
// path.
constexpr Duration kMailboxAnswerTime = Duration::milliseconds(500);
}  // namespace

// [MRC-CHOICE-Q26] [MRC-RSP-15] [VRB-RSP-13]
void Responder::start() {
  received_.set_window(128u * std::max<uint32_t>(1, qp_.attr.mpr_dest));
  const Placement placement = qp_.engine.config.placement;
  early_.enable(placement == Placement::kInOrder || (placement == Placement::kAuto && qp_.mailbox.present));
}

void Responder::reset() {
  received_.reset();
  messages_.reset();
  mailbox_content_.reset();
  early_.clear();
  imms_.reset();
  recv_queue_.reset();
  sacks_.reset();
  pending_acks_ = PendingAcks();
  piggyback_ = AckPiggybackPolicy();
  fault_.present = false;
  ack_deadline_ = Instant::never();
  refusals_.at_latest = Instant();
  refusals_.messages = 0;
  msn_ = 0;
  held_ = false;
}

// [MRC-MBX-2]
void Responder::expect_mailbox_answer(Instant now) {
  refusals_.at_latest = now + kMailboxAnswerTime;
  ++refusals_.messages;
}
bool Responder::answers_are_due(Instant now) const {
  return refusals_.messages != qp_.sink.mailbox_answered() && now < refusals_.at_latest;
}

Psn Responder::psn_of(uint64_t seq) const {
  return qp_.attr.rq_psn + static_cast<int32_t>((seq - kOrigin) & Psn::kMask);
}

bool Responder::on_request(Instant now, const wire::Flow& flow, const wire::Packet& p, uint32_t udp_bytes) {
  const int32_t delta = p.bth.psn - psn_of(received_.expected());  // [MRC-PSN-2]
  if (!received_.in_window(delta)) return refuse_outside_window(now, flow, p);
  const uint64_t seq = seq_of(delta);
  if (!messages_.allocated()) {
    received_.allocate();
    messages_.allocate();
  }
  const MessageClaim claim = claim_of(p, seq);
  if (__builtin_expect(!well_shaped(p, claim.packets), 0)) return on_misshapen(now, p, claim);
  const MessageMap::Verdict verdict = messages_.check(claim);
  if (__builtin_expect(verdict.fit == MessageMap::Fit::kMisfit, 0)) return on_misfit(now, p, verdict, seq);
  if (received_.contains(seq)) return on_duplicate(now, flow, p, seq, verdict.fit, udp_bytes);
  const std::optional<uint8_t*> to = find_place(p);
  if (__builtin_expect(!to.has_value(), 0)) return refuse(now, p, seq, wire::kSyndromeRemoteAccess);
  const Placed placed = place(p, claim, verdict, *to);
  if (__builtin_expect(placed != Placed::kYes, 0))
    return placed == Placed::kMemoryGone ? refuse_unwritable(now, p, seq)
                                         : refuse(now, p, seq, wire::kSyndromeInvalidRequest);

  const uint32_t nominal = wire::nominal_size(udp_bytes);  // [MRC-CHOICE-Q11] [MRC-NSCC-1]
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kNone,
                    event::RxData{.psn = p.bth.psn, .ev = wire::ev_of(flow), .size = nominal});
  received_.add(seq, nominal);
  sacks_.on_packet(seq, udp_bytes);
  if (seq == received_.expected()) advance(now);
  if (qp_.state == QpState::kError) return true;
  trigger(now, flow, p, seq, sacks_.unreported_bytes() >= qp_.engine.config.sack_bytes);
  return true;
}

// At most one NACK per ack_delay [MRC-CHOICE-Q5].
bool Responder::refuse_outside_window(Instant now, const wire::Flow& flow, const wire::Packet& p) {
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kOutside,
                    event::Drop{.reason = wire::NackReason::kPsnOorWindow, .psn = p.bth.psn});
  if (now - refusals_.last < qp_.engine.config.ack_delay) return false;
  refusals_.last = now;
  send_nack(now, flow, p.bth.psn, p.tseth.tx_timestamp, wire::NackReason::kPsnOorWindow);
  return false;
}

inline MessageClaim Responder::claim_of(const wire::Packet& p, uint64_t seq) const {
  const wire::Reth& reth = p.req.reth;
  MessageClaim claim;
  claim.seq = seq;
  claim.packets = packets_of(reth.dmalen, qp_.attr.path_mtu);
  claim.identity =
      reth.va - seq * qp_.attr.path_mtu + (uint64_t{reth.rkey.value()} << 32 | reth.dmalen) * qp_.engine.message_secret;
  claim.msn = p.meth.msn;
  claim.begins = wire::begins_message(p.bth.opcode);
  claim.ends = wire::ends_message(p.bth.opcode);
  claim.with_imm = wire::with_imm(p.bth.opcode);
  if (claim.with_imm) claim.detail = p.req.imm.data ^ (static_cast<uint32_t>(p.meth.rqmsn) * 0x9E3779B1u);
  return claim;
}

// Every packet but the last is full, and the last holds what remains.
bool Responder::well_shaped(const wire::Packet& p, uint32_t packets) const {
  const uint32_t mtu = qp_.attr.path_mtu;
  const bool begins = wire::begins_message(p.bth.opcode), ends = wire::ends_message(p.bth.opcode);
  if (!ends) return p.payload_len == mtu && packets >= (begins ? 2u : 3u);
  return (packets == 1) == begins && p.payload_len == p.req.reth.dmalen - (packets - 1) * mtu;
}

// In a message that begins here and is next, it is the peer's mistake; any other packet could be forged.
bool Responder::on_misshapen(Instant now, const wire::Packet& p, const MessageClaim& claim) {
  if (claim.seq == received_.expected() && messages_.is_next(claim.seq, claim.msn) && !messages_.knows(claim.msn))
    return refuse(now, p, claim.seq, wire::kSyndromeInvalidRequest);
  return on_misfit(now, p, {MessageMap::Fit::kMisfit, true, false, 0, 0}, claim.seq);
}

// Arrived before: never write again, repeat the acknowledgement [MRC-RSP-4].
bool Responder::on_duplicate(Instant now, const wire::Flow& flow, const wire::Packet& p, uint64_t seq,
                             MessageMap::Fit fit, uint32_t udp_bytes) {
  if (p.req.reth.rkey == kMailboxKey && fit == MessageMap::Fit::kMember && !mailbox_content_.same(p, seq)) {
    contradict(now, seq);
    return false;
  }
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kNone,
                    event::Duplicate{.psn = p.bth.psn, .ev = wire::ev_of(flow), .size = wire::nominal_size(udp_bytes)});
  if (seq < received_.expected()) pending_acks_.ack = true;
  trigger(now, flow, p, seq, true, true);
  return true;
}

// Writes a new packet's payload to `to`, or keeps it until its turn, and adds it to its message. Otherwise nothing has
// changed but a part of that memory. Allocations come first: without memory the packet counts as lost, and is
// retransmitted. What the peer writes to the mailbox is not read before the completion of its message, and does not
// wait.
inline Responder::Placed Responder::place(const wire::Packet& p, const MessageClaim& claim,
                                          const MessageMap::Verdict& verdict, uint8_t* to) {
  const bool to_mailbox = p.req.reth.rkey == kMailboxKey;
  if (to_mailbox && p.payload_len > 0) mailbox_content_.allocate(received_.capacity());
  std::unique_ptr<EarlyPayload> early;
  if (early_.enabled() && to != nullptr && !to_mailbox && claim.seq != received_.expected())
    early = early_.copy(p.req.reth.va, p.req.reth.rkey, p.payload, p.payload_len, received_.capacity());
  messages_.make_room(claim, verdict);
  PendingImm* const imm = claim.with_imm ? add_imm(p, claim.seq) : nullptr;
  if (claim.with_imm && imm == nullptr) return Placed::kTooManyImms;
  if (early != nullptr) {
    early_.put(claim.seq, std::move(early));
    ++qp_.engine.counters.rx_early;
  } else if (to != nullptr) {
    if (!claim.ends && !streams(p.payload_len))
      prefetch_for_write(to + p.payload_len, p.payload_len);  // likely destination of the next packet
    if (!write_payload(to, p.payload, p.payload_len)) {
      if (imm != nullptr) imms_.take_back(imm);
      return Placed::kMemoryGone;
    }
  }
  if (to_mailbox && p.payload_len > 0) mailbox_content_.keep(p, claim.seq);
  messages_.accept(claim, verdict, p.payload_len > 0 && !to_mailbox);
  return Placed::kYes;
}

bool Responder::write_payload(uint8_t* to, const uint8_t* from, uint32_t n) {
  const iovec room{to, n};
  const auto place_by = [&](auto stream) {
    return environment::guarded(&room, 1, [from, &room] {
      place_bytes<decltype(stream)::value>(static_cast<uint8_t*>(room.iov_base), from,
                                           static_cast<uint32_t>(room.iov_len));
    });
  };
  const std::optional<uint64_t> fault = streams(n) ? place_by(std::true_type()) : place_by(std::false_type());
  if (__builtin_expect(fault.has_value(), 0)) {
    fault_.address = *fault;
    return false;
  }
  if (n >= kMinStreamed) qp_.engine.placement.long_payload += n;
  return true;
}

std::optional<uint8_t*> Responder::find_place(Key rkey, uint64_t va, uint32_t n) const {
  if (rkey == kMailboxKey) {  // [MRC-MBX-1]
    const Mailbox& box = qp_.mailbox;
    if (!box.present || n > box.length || va > box.length - n) return std::nullopt;
    return n > 0 && box.base != nullptr ? box.base + va : nullptr;
  }
  if (n == 0) return nullptr;  // a write of zero bytes needs no key [MRC-RSP-6]
  const MemoryRegion* mr = qp_.engine.memory.find(rkey);
  if (mr == nullptr || mr->pd != qp_.pd || (mr->access & kAccessRemoteWrite) == 0 ||
      ((qp_.attr.access & kAccessRemoteWrite) == 0 && (mr->access & kAccessAnyQp) == 0) || !mr->covers(va, n))
    return std::nullopt;
  return mr->base != nullptr ? mr->at(va) : nullptr;
}

// A packet without permission. It is answered when everything before it is complete, because only then is
// it proven to be the peer's; until then it has no effect and the peer retransmits it [MRC-RSP-7] [MRC-SEC-4]. The
// QP's own sends end with it, so the answers to messages in the mailbox leave first [MRC-MBX-2].
bool Responder::refuse(Instant now, const wire::Packet& p, uint64_t seq, uint8_t syndrome) {
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kRefused, event::Drop{.psn = p.bth.psn});
  if (seq != received_.expected() || answers_are_due(now)) return false;
  fail(now, seq, syndrome,
       syndrome == wire::kSyndromeRemoteAccess ? AsyncEvent::kQpAccessError : AsyncEvent::kQpRequestError);
  return true;
}

// The memory of its region is gone. As a refused packet, but the fault is not the peer's [MRC-RSP-14].
bool Responder::refuse_unwritable(Instant now, const wire::Packet& p, uint64_t seq) {
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kMemoryGone, event::Drop{.psn = p.bth.psn});
  if (seq != received_.expected() || answers_are_due(now)) return false;
  fail_unwritable(now, p.req.reth.rkey, seq);
  return true;
}

void Responder::fail_unwritable(Instant now, Key rkey, uint64_t seq) {
  if (const MemoryRegion* const mr = qp_.engine.memory.find(rkey))
    qp_.engine.sink.on_memory_fault(qp_.qpn, mr->fault_at(fault_.address, true));
  fail(now, seq, wire::kSyndromeRemoteOperation, AsyncEvent::kQpFatal);
}

// Either this packet or one that was accepted was not sent by the peer. A valid key decides; between packets that need
// none, one that is plausibly the peer's puts the other in doubt. All others are dropped [MRC-SEC-2] [MRC-SEC-3].
bool Responder::on_misfit(Instant now, const wire::Packet& p, const MessageMap::Verdict& v, uint64_t seq) {
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kMisfit, event::Drop{.psn = p.bth.psn});
  const bool keyed = p.payload_len > 0 && p.req.reth.rkey != kMailboxKey &&
                     well_shaped(p, packets_of(p.req.reth.dmalen, qp_.attr.path_mtu)) && find_place(p).has_value();
  const bool next = seq == received_.expected() && messages_.is_next(seq, p.meth.msn);
  if (keyed || (!v.against_proven && (v.same_place || next))) contradict(now, seq);
  return false;
}

// The immediate waits until every earlier message is complete. Null: the peer has too many of them in flight.
PendingImm* Responder::add_imm(const wire::Packet& p, uint64_t seq) {
  PendingImm* const imm = imms_.add(p.meth.rqmsn, qp_.attr.max_wimm_dest);
  if (imm == nullptr) return nullptr;
  uint8_t memory_order[4];
  wire::put32(memory_order, p.req.imm.data);
  std::memcpy(&imm->imm, memory_order, 4);
  imm->seq = seq;
  imm->length = p.req.reth.dmalen;
  imm->mailbox = p.req.reth.rkey == kMailboxKey;
  return imm;
}

void Responder::fail(Instant now, uint64_t seq, uint8_t syndrome, AsyncEvent event) {
  fault_ = {seq, syndrome, true};
  pending_acks_.nak = true;
  schedule_ack();
  qp_.fail(now, WcStatus::kFlushed, event);
}

// Two packets contradict each other, and one of them was accepted: the data in memory cannot be trusted. The peer gets
// a NAK at the older of the doubtful packet and the first that is missing, so that nothing from there on succeeds
// [MRC-SEC-3].
void Responder::contradict(Instant now, uint64_t seq) {
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kContradicted, event::Drop{.psn = psn_of(seq)});
  fail(now, std::min(seq, received_.expected()), wire::kSyndromeRemoteOperation, AsyncEvent::kQpContradicted);
}

void Responder::on_trimmed(Instant now, const wire::Flow& flow, const wire::Packet& p, bool last_hop) {
  const int32_t delta = p.bth.psn - psn_of(received_.expected());
  if (!received_.in_window(delta)) return;
  if (received_.contains(seq_of(delta))) return trigger(now, flow, p, seq_of(delta), true);  // a SACK
  send_nack(now, flow, p.bth.psn, p.tseth.tx_timestamp,
            last_hop ? wire::NackReason::kTrimmedLastHop : wire::NackReason::kTrimmed);
}

void Responder::on_packet_in_error(Instant now, const wire::Flow& flow, const wire::Packet& p) {
  if (now - refusals_.last < qp_.engine.config.ack_delay) return;
  refusals_.last = now;
  if (faulted()) {
    pending_acks_.nak = true;
    schedule_ack();
    return;
  }
  // ACK the completed requests first, then NACK the rest: in the opposite order the peer would fail requests that had
  // completed.
  if (!wire::is_request(p.bth.opcode)) {
    on_probe(now, flow, p);
  } else if (const int32_t delta = p.bth.psn - psn_of(received_.expected()); delta < 0) {
    pending_acks_.ack = true;
    return trigger(now, flow, p, seq_of(delta), true);
  }
  if (received_.expected() != kOrigin)
    if (const std::optional<EvIndex> ev = qp_.peer->paths.pick_answer(PlaneSet::all()))
      send_ack(now, &qp_.engine, &qp_.services.control, *qp_.peer, *ev, transport_ack(false));
  send_nack(now, flow, psn_of(received_.expected()), 0, wire::NackReason::kUnexpEvent);
}

void Responder::check() const {
  received_.check();
  messages_.check();
  imms_.check();
  recv_queue_.check();
  sacks_.check();
  piggyback_.check();
  mailbox_content_.check();
  early_.check();
  MRC_INVARIANT(early_.count() <= received_.out_of_order());
  MRC_INVARIANT(imms_.count() <= received_.out_of_order());
  MRC_INVARIANT(!held_ || !qp_.receiving() || received_.next_arrived());
  MRC_INVARIANT(!pending_acks_.scheduled || qp_.acks_pending.linked);
  // Coalesced answers have a due time.
  MRC_INVARIANT(!pending_acks_.sack || pending_acks_.scheduled || ack_deadline_ < Instant::never());
}

}  // namespace mrc::core
