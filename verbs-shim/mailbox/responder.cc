#include "mailbox/responder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "invariant.h"
#include "mrc_soft.h"

namespace mrc::shim {

Responder::Responder(Link* link, Outbox* outbox, KeyTable* keys, const Shape& shape)
    : link_(link), outbox_(outbox), keys_(keys), shape_(shape), requests_(kWindow + shape.immediates) {}

void Responder::on_write_imm(const ibv_wc& wc) {
  const Checked checked(this);
  if (stopped_) return;
  ArrivedRequest arrived;
  arrived.with_imm = arrived.solicited = true;
  arrived.length = wc.byte_len;
  arrived.imm = wc.imm_data;
  requests_.push(arrived);  // MRC has at most as many of them as it has receive requests
  run();
}

void Responder::on_note(const Immediate& note, const uint8_t* mailbox) {
  const Checked checked(this);
  if (stopped_) return;
  mailbox_ = mailbox;
  if (note.note == Note::kFinish) {
    requests_.finish(note.number);
    run();
    return;
  }
  ArrivedRequest arrived;
  arrived.note = note.note;
  arrived.number = note.number;
  const Request request = decode_request(mailbox + request_offset(note.number));
  arrived.length = request.length;
  if (note.note < Note::kSend || note.note > Note::kAtomic || note.number != sequence_.expected() ||
      request.note != note.note || request.number != note.number || !requests_.push(arrived)) {
    refuse(note.number, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    return;
  }
  sequence_.arrive();
  run();
}

bool Responder::run() {
  const Checked checked(this);
  waits_for_receive_ = false;
  while (requests_.has_unmatched() && !requests_.failing() && !stopped_ && !link_->completion_due() &&
         match(&requests_.unmatched())) {
    requests_.set_matched();
    complete();
  }
  if (!stopped_) complete();
  return waits_for_receive_;
}

// False: it has to wait. [VRB-RSP-1] [VRB-RSP-2]
bool Responder::match(ArrivedRequest* e) {
  if (e->note == Note::kNone) {
    Receive receive;
    if (!link_->take_receive(&receive)) {
      waits_for_receive_ = true;
      return false;
    }
    e->wr_id = receive.wr_id;
    e->done = true;
    return true;
  }
  const Request request = decode_request(mailbox_ + request_offset(e->number));
  if (e->note == Note::kSend || e->note == Note::kReady) return match_send(e, request);
  if (requests_.has_matched()) return false;  // earlier requests are not complete
  return e->note == Note::kRead ? read(*e, request) && (e->done = true) : atomic(*e, request) && (e->done = true);
}

bool Responder::match_send(ArrivedRequest* e, const Request& request) {
  if (outbox_->room() == 0) return false;
  Receive receive;
  if (!link_->take_receive(&receive)) {
    waits_for_receive_ = true;
    if (not_ready_sent_ == e->number) return false;
    flush_ack();  // the peer may give up at once: what was carried out succeeds first
    if (outbox_->note({Note::kNotReady, attributes_.rnr_timer, e->number})) not_ready_sent_ = e->number;
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
    e->failure = SendFailure::kTooLong;
  } else if (e->note == Note::kReady) {
    const std::optional<uint32_t> bytes = stage_landing(*e, receive);
    if (bytes) return announce_landing(e->number, *bytes);
    e->failure = SendFailure::kRefused;
  } else {
    const uint8_t* data = mailbox_ + request_offset(e->number) + kHeaderBytes;
    const Access placed = keys_->scatter(receive.sges, receive.num_sge, data, e->length, shape_.domain);
    if (placed.outcome == Access::kRefused) e->failure = SendFailure::kRefused;
    if (placed.outcome == Access::kGone) {
      e->failure = SendFailure::kGone;
      gone_ = placed;
    }
  }
  e->done = true;
  return true;
}

// The reply with the destination of an announced SEND's data; its length. None: its memory does not admit it.
std::optional<uint32_t> Responder::stage_landing(const ArrivedRequest& e, const Receive& receive) const {
  Segment segments[kMaxSegments];
  uint32_t count = 0;
  uint64_t left = e.length;
  for (int i = 0; i < receive.num_sge && left > 0; ++i) {
    ibv_sge sge = receive.sges[i];
    sge.length = static_cast<uint32_t>(std::min<uint64_t>(sge.length, left));
    if (sge.length == 0) continue;
    const std::optional<Segment> segment = keys_->landing(sge, shape_.domain);
    if (!segment) return std::nullopt;
    segments[count++] = *segment;
    left -= sge.length;
  }
  uint8_t* const staged = outbox_->staging().reply(e.number);
  put32(staged, count);
  encode_segments(segments, count, staged + kClearHeaderBytes);
  return kClearHeaderBytes + count * kSegmentBytes;
}

// False: the MRC QP refuses the reply, the connection is lost. The receive request is flushed with those before it.
bool Responder::announce_landing(uint32_t number, uint32_t bytes) {
  if (outbox_->reply({Note::kClear, 0, number}, bytes)) return true;
  requests_.set_matched();
  stopped_ = true;
  link_->fail(IBV_EVENT_QP_FATAL);
  return false;
}

// Writes the data of a READ to its destination, then the note that it is in place. The peer's READ is over when the
// note has arrived, and with it the application's claim to the memory; but MRC may have to send the data once more if
// the acknowledgement is lost. So the memory is lent until MRC has completed the note. [VRB-RSP-4] [VRB-RSP-10]
bool Responder::read(const ArrivedRequest& e, const Request& request) {
  if (request.segments > kMaxSegments) {
    refuse(e.number, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    return false;
  }
  Loan loan;
  if (request.length > 0 && (attributes_.access & IBV_ACCESS_REMOTE_READ) != 0)
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
    wr.wr_id = outbox_->wr_id(Outbox::kReadData);
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma = {segments[i].addr, segments[i].key};
    if (!outbox_->post(&wr, 1)) return false;
    from += n;
    left -= n;
  }
  if (!outbox_->note({Note::kReadDone, 0, e.number}, std::move(loan))) return false;
  sequence_.acknowledge(e.number);
  return true;
}

bool Responder::atomic(const ArrivedRequest& e, const Request& request) {
  if (outbox_->room() == 0) return false;
  if (request.remote_addr % sizeof(uint64_t) != 0) {
    refuse(e.number, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    return false;
  }
  uint64_t before = 0;
  Access done = {Access::kRefused};
  if ((attributes_.access & IBV_ACCESS_REMOTE_ATOMIC) != 0)
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
  sequence_.acknowledge(e.number);
  return true;
}

void Responder::complete() {
  while (requests_.has_matched() && requests_.matched().done) {
    const ArrivedRequest& e = requests_.pop();
    if (e.failure != SendFailure::kNone) return fail(e);
    if (e.note == Note::kNone) {
      ++consumed_;
      finish(e, IBV_WC_SUCCESS);
    } else {
      sequence_.complete(e.number);
      if (e.note == Note::kSend || e.note == Note::kReady) finish(e, IBV_WC_SUCCESS);
    }
  }
}

// Everything before it was carried out, as the refusal says. The completion is in the place of an event. [VRB-EVT-1]
void Responder::fail(const ArrivedRequest& e) {
  const bool too_long = e.failure == SendFailure::kTooLong;
  if (e.failure == SendFailure::kGone) link_->report_gone(gone_);
  finish(e, too_long ? IBV_WC_LOC_LEN_ERR : IBV_WC_LOC_PROT_ERR);
  refuse(e.number, too_long ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR, std::nullopt);
}

void Responder::finish(const ArrivedRequest& e, ibv_wc_status status) {
  ibv_wc wc{};
  wc.wr_id = e.wr_id;
  wc.status = status;
  wc.opcode = e.note == Note::kNone ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  wc.byte_len = e.length;
  wc.qp_num = shape_.qpn;
  wc.src_qp = attributes_.source_qpn;
  if (e.with_imm) {
    wc.wc_flags = IBV_WC_WITH_IMM;
    wc.imm_data = e.imm;
  }
  link_->complete_receive(wc, e.solicited || status != IBV_WC_SUCCESS);
}

// [VRB-RSP-6]
void Responder::flush_ack() {
  const Checked checked(this);
  if (ack_due() && outbox_->note({Note::kAck, 0, sequence_.completed()})) sequence_.acknowledge(sequence_.completed());
}

// The peer is notified, and no more requests are carried out. [VRB-RSP-5]
void Responder::refuse(uint32_t number, ibv_wc_status status, std::optional<ibv_event_type> event) {
  if (stopped_) return;
  stopped_ = true;
  outbox_->note({Note::kRefused, static_cast<uint8_t>(status), number});
  link_->fail(event);
}

// Everything before the first request that is not carried out was, so this one is refused. With SENDs alone there is no
// refusal: the peers of programs that end often have some left that do not matter, and would report errors.
void Responder::abandon() {
  const Checked checked(this);
  if (stopped_) return;
  const ArrivedRequest* const first = requests_.first_if_answer_is_due();
  if (first == nullptr) return;
  stopped_ = true;
  outbox_->note({Note::kRefused, IBV_WC_REM_OP_ERR, first->number});
}

// The reply that announced its destination is still there.
bool Responder::find_lost_receive() {
  const Checked checked(this);
  if (stopped_) return false;
  ArrivedRequest* const lost = requests_.first_waiting([this](const ArrivedRequest& e) {
    const uint8_t* const staged = outbox_->staging().reply(e.number);
    Segment segments[kMaxSegments];
    const uint32_t count = get32(staged);
    decode_segments(staged + kClearHeaderBytes, count, segments);
    return !keys_->can_land(segments, count);
  });
  if (lost != nullptr) lost->failure = SendFailure::kLost;
  return lost != nullptr;
}

void Responder::flush() {
  const Checked checked(this);
  stopped_ = true;
  while (requests_.has_matched()) {
    const ArrivedRequest& e = requests_.pop();
    if (e.note == Note::kRead || e.note == Note::kAtomic) continue;
    finish(e, e.failure == SendFailure::kLost ? IBV_WC_LOC_PROT_ERR : IBV_WC_WR_FLUSH_ERR);
  }
  requests_.clear();
  waits_for_receive_ = false;
}

void Responder::reset() {
  const Checked checked(this);
  requests_.clear();
  sequence_ = {};
  consumed_ = 0;
  not_ready_sent_ = UINT32_MAX;
  waits_for_receive_ = stopped_ = false;
}

void Responder::check() const {
  requests_.check();
  MRC_INVARIANT(!waits_for_receive_ || requests_.has_unmatched());
  MRC_INVARIANT(consumed_ <= shape_.immediates);
}

}  // namespace mrc::shim
