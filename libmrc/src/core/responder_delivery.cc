// Delivery in order: payloads that came early, completions of messages and the message count follow as the next
// expected packet advances. [MRC-RSP-8..9, MRC-RSP-15]
#include "core/responder.h"

#include <memory>
#include <optional>
#include <utility>

namespace mrc::core {

PostResult Responder::post_recv(Instant now, uint64_t wr_id) {
  if (!recv_queue_.push(wr_id)) return PostResult::kQueueFull;
  if (held_ && qp_.receiving()) {
    advance(now);
    schedule_ack();
  }
  return PostResult::kOk;
}

Responder::Delivery Responder::deliver_imm(Instant now, uint64_t seq) {
  PendingImm* const imm = imms_.find_next(seq);
  if (imm == nullptr) return Delivery::kOutOfOrder;
  if (!imm->mailbox && recv_queue_.empty()) return Delivery::kWaits;
  Completion c;
  c.mailbox = imm->mailbox;
  c.wr_id = imm->mailbox ? qp_.mailbox.wr_id : recv_queue_.pop();
  c.is_recv = true;
  c.with_imm = true;
  c.solicited = true;  // MRC carries no solicited bit: every immediate counts as solicited [MRC-RSP-9]
  c.qpn = qp_.qpn;
  c.byte_len = imm->length;
  c.imm = imm->imm;
  imms_.remove(imm);
  if (c.mailbox) expect_mailbox_answer(now);
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kNone,
                    event::Complete{.wr_id = c.wr_id, .status = c.status, .bytes = c.byte_len, .receive = true});
  return qp_.sink.on_completion(c) ? Delivery::kDone : Delivery::kLost;
}

// Over everything that is in order now.
void Responder::advance(Instant now) {
  held_ = false;
  while (received_.next_arrived()) {
    const uint64_t next = received_.expected();
    if (!messages_.in_front() && !messages_.begin_front(next)) return contradict(now, next);
    if (early_.any() && !write_early(now, next)) return;
    if (next == messages_.front_end() && !finish_message(now)) return;
    received_.advance();
  }
}

// The payload of the next packet, if it came before others. False: its region or the memory of it is gone since, and
// the QP has failed; the peer would not send the packet again, since a SACK has reported it. [MRC-RSP-15]
bool Responder::write_early(Instant now, uint64_t seq) {
  std::unique_ptr<EarlyPayload> early = early_.take(seq);
  if (early == nullptr) return true;
  const auto n = static_cast<uint32_t>(early->bytes.size());
  const std::optional<uint8_t*> to = find_place(early->rkey, early->va, n);
  if (!to.has_value()) {
    fail(now, seq, wire::kSyndromeRemoteAccess, AsyncEvent::kQpAccessError);
    return false;
  }
  if (*to != nullptr && !write_payload(*to, early->bytes.data(), n)) {
    fail_unwritable(now, early->rkey, seq);
    return false;
  }
  early_.give_back(std::move(early));
  return true;
}

// The last packet of the message is next, and has arrived. False: the message waits, or the QP has failed.
bool Responder::finish_message(Instant now) {
  const uint64_t last = received_.expected();
  if (!messages_.front_whole()) {
    contradict(now, last);
    return false;
  }
  switch (messages_.front_with_imm() ? deliver_imm(now, last) : Delivery::kDone) {
    case Delivery::kDone:
      break;
    case Delivery::kWaits:
      if (!qp_.engine.config.hold_without_recv_wqe) {
        fail(now, last, wire::kSyndromeInvalidRequest, AsyncEvent::kQpRequestError);
        return false;
      }
      // The packet stays the next one: the window closes and the requester waits [MRC-RSP-8].
      ++qp_.engine.counters.wimm_held;
      held_ = true;
      return false;
    case Delivery::kLost:  // the CQ is full: the completion is lost, and with it the QP
      fail(now, last, wire::kSyndromeRemoteOperation, AsyncEvent::kQpRequestError);
      return false;
    case Delivery::kOutOfOrder:
      contradict(now, last);
      return false;
  }
  messages_.finish_front();
  msn_ = (msn_ + 1) & Psn::kMask;
  pending_acks_.ack = true;
  piggyback_.on_message();
  return true;
}

void Responder::flush() {
  early_.clear();
  while (!recv_queue_.empty()) {
    Completion c;
    c.wr_id = recv_queue_.pop();
    c.status = WcStatus::kFlushed;
    c.is_recv = true;
    c.qpn = qp_.qpn;
    qp_.sink.on_completion(c);
  }
}

}  // namespace mrc::core
