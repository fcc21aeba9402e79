#include "mailbox/responder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "mrc_soft.h"

namespace mrc::shim {

namespace {

uint32_t following(uint32_t number) {
  return (number + 1) & kNumberMask;
}

}  // namespace

Responder::Responder(Link* link, Outbox* outbox, KeyTable* keys, const Shape& shape)
    : link_(link), outbox_(outbox), keys_(keys), shape_(shape) {
  uint64_t n = 1;
  while (n < kWindow + shape.immediates) n *= 2;
  mask_ = n - 1;
  ring_.reset(new Entry[n]);
}

bool Responder::push(const Entry& entry) {
  if (tail_ - head_ > mask_) return false;
  at(tail_++) = entry;
  return true;
}

void Responder::on_write_imm(const ibv_wc& wc) {
  if (dead_) return;
  Entry e;
  e.with_imm = e.solicited = true;
  e.length = wc.byte_len;
  e.imm = wc.imm_data;
  push(e);  // MRC has at most as many of them as it has receive requests
  run();
}

void Responder::on_note(const Immediate& note, const uint8_t* mailbox) {
  if (dead_) return;
  mailbox_ = mailbox;
  if (note.note == Note::kFinish) {
    for (uint64_t i = head_; i != match_; ++i)
      if (at(i).note == Note::kReady && at(i).number == note.number) at(i).done = true;
    run();
    return;
  }
  Entry e;
  e.note = note.note;
  e.number = note.number;
  const Request request = decode_request(mailbox + request_offset(note.number));
  e.length = request.length;
  if (note.note < Note::kSend || note.note > Note::kAtomic || note.number != expected_ || request.note != note.note ||
      request.number != note.number || !push(e)) {
    refuse(note.number, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    return;
  }
  expected_ = following(expected_);
  run();
}

bool Responder::run() {
  starved_ = false;
  while (match_ != tail_ && !dead_ && !link_->holds() && match(&at(match_))) {
    ++match_;
    complete();
  }
  if (!dead_) complete();
  return starved_;
}

// False: it has to wait. [VRB-RSP-1] [VRB-RSP-2]
bool Responder::match(Entry* e) {
  if (e->note == Note::kNone) {
    Receive receive;
    if (!link_->take_receive(&receive)) {
      starved_ = true;
      return false;
    }
    e->wr_id = receive.wr_id;
    e->done = true;
    return true;
  }
  const Request request = decode_request(mailbox_ + request_offset(e->number));
  if (e->note == Note::kSend || e->note == Note::kReady) return match_send(e, request);
  if (head_ != match_) return false;  // earlier requests are not complete
  return e->note == Note::kRead ? read(*e, request) && (e->done = true) : atomic(*e, request) && (e->done = true);
}

bool Responder::match_send(Entry* e, const Request& request) {
  if (outbox_->room() == 0) return false;
  Receive receive;
  if (!link_->take_receive(&receive)) {
    starved_ = true;
    if (told_not_ready_ == e->number) return false;
    flush_ack();  // the peer may give up at once: what was carried out succeeds first
    if (outbox_->note({Note::kNotReady, rnr_timer_, e->number})) told_not_ready_ = e->number;
    return false;
  }
  e->wr_id = receive.wr_id;
  e->with_imm = (request.flags & kWithImmediate) != 0;
  e->solicited = (request.flags & kSolicited) != 0;
  e->imm = request.immediate;
  uint64_t space = 0;
  for (int i = 0; i < receive.num_sge; ++i) space += receive.sges[i].length;
  const bool too_long = e->length > space;  // [VRB-RSP-3]
  if (too_long || (e->note == Note::kSend && e->length > kEagerBytes)) {
    finish(*e, IBV_WC_LOC_LEN_ERR);
    refuse(e->number, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    return false;
  }
  Access placed;
  if (e->note == Note::kSend) {
    const uint8_t* data = mailbox_ + request_offset(e->number) + kHeaderBytes;
    placed = keys_->scatter(receive.sges, receive.num_sge, data, e->length, shape_.domain);
    e->done = placed.outcome == Access::kDone;
  } else {
    Segment segments[kMaxSegments];
    uint32_t count = 0;
    uint64_t left = e->length;
    bool fits = true;
    for (int i = 0; i < receive.num_sge && left > 0 && fits; ++i) {
      ibv_sge sge = receive.sges[i];
      sge.length = static_cast<uint32_t>(std::min<uint64_t>(sge.length, left));
      if (sge.length == 0) continue;
      const std::optional<Segment> segment = keys_->landing(sge, shape_.domain);
      fits = segment.has_value();
      if (fits) segments[count++] = *segment;
      left -= sge.length;
    }
    if (fits) {
      uint8_t* const staged = outbox_->staging().reply(e->number);
      put32(staged, count);
      encode_segments(segments, count, staged + kClearHeaderBytes);
      if (outbox_->reply({Note::kClear, 0, e->number}, kClearHeaderBytes + count * kSegmentBytes)) return true;
    }
  }
  if (e->done) return true;
  finish(*e, IBV_WC_LOC_PROT_ERR);
  if (placed.outcome == Access::kGone) link_->report_gone(placed);
  refuse(e->number, IBV_WC_REM_OP_ERR, placed.outcome == Access::kGone ? IBV_EVENT_QP_FATAL : IBV_EVENT_QP_REQ_ERR);
  return false;
}

// Writes the data of a READ to its destination, then the note that it is in place. The peer's READ is over when the
// note has arrived, and with it the application's claim to the memory; but MRC may have to send the data once more if
// the acknowledgement is lost. So the memory is lent until MRC has completed the note. [VRB-RSP-4] [VRB-RSP-10]
bool Responder::read(const Entry& e, const Request& request) {
  if (request.segments > kMaxSegments) {
    refuse(e.number, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    return false;
  }
  Loan loan;
  if (request.length > 0 && (access_ & IBV_ACCESS_REMOTE_READ) != 0)
    loan = keys_->lend(request.rkey, request.remote_addr, request.length, IBV_ACCESS_REMOTE_READ, shape_.domain);
  if (request.length > 0 && loan == nullptr) {
    refuse(e.number, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
    return false;
  }
  if (outbox_->room() < request.segments + 1u || !outbox_->can_lend()) return false;
  Segment segments[kMaxSegments];
  decode_segments(mailbox_ + request_offset(e.number) + kHeaderBytes, request.segments, segments);
  uint64_t from = request.remote_addr;
  uint64_t left = request.length;
  for (uint32_t i = 0; i < request.segments && left > 0; ++i) {
    const auto n = static_cast<uint32_t>(std::min<uint64_t>(segments[i].length, left));
    ibv_sge sge = {from, n, request.rkey};  // lkey and rkey of a region are the same number
    ibv_send_wr wr{};
    wr.wr_id = outbox_->wr_id(Outbox::kInternal);
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma = {segments[i].addr, segments[i].key};
    if (!outbox_->post(&wr, 1)) return false;
    from += n;
    left -= n;
  }
  if (!outbox_->note({Note::kReadDone, 0, e.number}, std::move(loan))) return false;
  acknowledged_ = e.number;
  return true;
}

bool Responder::atomic(const Entry& e, const Request& request) {
  if (outbox_->room() == 0) return false;
  if (request.remote_addr % sizeof(uint64_t) != 0) {
    refuse(e.number, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    return false;
  }
  uint64_t before = 0;
  Access done = {Access::kRefused};
  if ((access_ & IBV_ACCESS_REMOTE_ATOMIC) != 0)
    done = keys_->atomic(request.rkey, request.remote_addr, shape_.domain, request, &before);
  if (done.outcome == Access::kRefused) {
    refuse(e.number, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
    return false;
  }
  if (done.outcome == Access::kGone) {  // [VRB-RSP-12]
    link_->report_gone(done);
    refuse(e.number, IBV_WC_REM_OP_ERR, IBV_EVENT_QP_FATAL);
    return false;
  }
  put64(outbox_->staging().reply(e.number), before);
  if (!outbox_->reply({Note::kAtomicDone, 0, e.number}, sizeof before)) return false;
  acknowledged_ = e.number;
  return true;
}

void Responder::complete() {
  while (head_ != match_ && at(head_).done) {
    const Entry& e = at(head_++);
    if (e.note == Note::kNone) {
      ++used_up_;
      finish(e, IBV_WC_SUCCESS);
    } else {
      completed_ = e.number;
      if (e.note == Note::kSend || e.note == Note::kReady) finish(e, IBV_WC_SUCCESS);
    }
  }
}

void Responder::finish(const Entry& e, ibv_wc_status status) {
  ibv_wc wc{};
  wc.wr_id = e.wr_id;
  wc.status = status;
  wc.opcode = e.note == Note::kNone ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  wc.byte_len = e.length;
  wc.qp_num = shape_.qpn;
  wc.src_qp = source_qpn_;
  if (e.with_imm) {
    wc.wc_flags = IBV_WC_WITH_IMM;
    wc.imm_data = e.imm;
  }
  link_->complete_receive(wc, e.solicited || status != IBV_WC_SUCCESS);
}

// [VRB-RSP-6]
void Responder::flush_ack() {
  if (!owes_ack()) return;
  if (outbox_->note({Note::kAck, 0, completed_})) acknowledged_ = completed_;
}

// The peer is notified, and no more requests are carried out. [VRB-RSP-5]
void Responder::refuse(uint32_t number, ibv_wc_status status, ibv_event_type event) {
  if (dead_) return;
  dead_ = true;
  outbox_->note({Note::kRefused, static_cast<uint8_t>(status), number});
  link_->fail(event);
}

// Everything before the first request that is not carried out was, so this one is refused. With SENDs alone there is no
// refusal: the peers of programs that end often have some left that do not matter, and would report errors.
void Responder::abandon() {
  if (dead_) return;
  const Entry* first = nullptr;
  bool awaited = false;
  for (uint64_t i = head_; i != tail_; ++i) {
    const Entry& e = at(i);
    if (e.done || e.note == Note::kNone) continue;
    if (first == nullptr) first = &e;
    awaited |= e.note == Note::kRead || e.note == Note::kAtomic;
  }
  if (!awaited) return;
  dead_ = true;
  outbox_->note({Note::kRefused, IBV_WC_REM_OP_ERR, first->number});
}

void Responder::flush() {
  dead_ = true;
  for (; head_ != match_; ++head_)
    if (at(head_).note == Note::kReady || at(head_).note == Note::kNone) finish(at(head_), IBV_WC_WR_FLUSH_ERR);
  head_ = match_ = tail_;
  starved_ = false;
}

void Responder::reset() {
  head_ = match_ = tail_ = 0;
  expected_ = 1;
  completed_ = acknowledged_ = used_up_ = 0;
  told_not_ready_ = UINT32_MAX;
  starved_ = dead_ = false;
}

}  // namespace mrc::shim
