// The ring of the send queue: posting, sending WRITEs and messages, placing data. Confirmations and completions
// are in requester_done.cc.
#include "mailbox/requester.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "invariant.h"
#include "mrc_soft.h"

namespace mrc::shim {

namespace {

constexpr unsigned kKnownFlags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

}  // namespace

// Maximum number of writes posted to MRC together.
struct Requester::Batch {
  static constexpr uint32_t kMax = 16;
  explicit Batch(Outbox* o) : outbox(o) {}
  bool room() const { return outbox->room() > count; }
  ibv_send_wr* add() {
    if (count == kMax) flush();
    wrs[count] = ibv_send_wr{};
    return &wrs[count++];
  }
  void flush() {
    if (!outbox->post(wrs, count)) broken = true;
    count = 0;
  }

  Outbox* const outbox;
  uint32_t count = 0;
  bool broken = false;
  ibv_send_wr wrs[kMax];
  ibv_sge sges[kMax][kMaxSegments + 1];
  ibv_sge* own_sges() { return sges[count - 1]; }
};

Requester::Requester(Link* link, Outbox* outbox, KeyTable* keys, const Shape& shape)
    : link_(link),
      outbox_(outbox),
      keys_(keys),
      shape_(shape),
      ring_(shape.max_wr, shape.max_sge, shape.max_inline),
      not_ready_(link) {}

// 0, or an errno value.
int Requester::validate(const ibv_send_wr& wr, uint64_t* length) const {
  if ((wr.send_flags & ~kKnownFlags) != 0) return EINVAL;
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > shape_.max_sge || (wr.num_sge > 0 && wr.sg_list == nullptr))
    return EINVAL;
  *length = 0;
  for (int i = 0; i < wr.num_sge; ++i) *length += wr.sg_list[i].length;
  if (*length > kMaxMessage) return EINVAL;
  const bool inlined = (wr.send_flags & IBV_SEND_INLINE) != 0;
  switch (static_cast<int>(wr.opcode)) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      return inlined && *length > shape_.max_inline ? EINVAL : 0;
    case IBV_WR_RDMA_READ:
      return inlined ? EINVAL : 0;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return inlined || wr.num_sge != 1 || *length != sizeof(uint64_t) ? EINVAL : 0;
    default:
      return EOPNOTSUPP;
  }
}

// 0, ENOMEM, or EFAULT: data to be sent inline cannot be read.
int Requester::fill(const ibv_send_wr& wr, uint64_t length) {
  SendRequest& e = ring_.at(pos_.tail);
  e.wr_id = wr.wr_id;
  e.opcode = wr.opcode;
  e.length = static_cast<uint32_t>(length);
  e.imm = wr.imm_data;
  e.flags.signaled = (wr.send_flags & IBV_SEND_SIGNALED) != 0 || shape_.signal_all;
  e.flags.fenced = (wr.send_flags & IBV_SEND_FENCE) != 0;
  e.flags.inlined = (wr.send_flags & IBV_SEND_INLINE) != 0;
  e.flags.solicited = (wr.send_flags & IBV_SEND_SOLICITED) != 0;
  e.message = wr.opcode != IBV_WR_RDMA_WRITE && wr.opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
  e.delivered = false;
  if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    e.remote_addr = wr.wr.atomic.remote_addr;
    e.rkey = wr.wr.atomic.rkey;
    e.operand = wr.wr.atomic.compare_add;
    e.swap = wr.wr.atomic.swap;
  } else {
    e.remote_addr = wr.wr.rdma.remote_addr;
    e.rkey = wr.wr.rdma.rkey;
  }
  ibv_sge* const sges = ring_.sges_of(pos_.tail);
  e.num_sge = 0;
  if (!e.flags.inlined) {
    for (int i = 0; i < wr.num_sge; ++i)
      if (wr.sg_list[i].length > 0) sges[e.num_sge++] = wr.sg_list[i];
  } else if (e.length > 0) {
    uint8_t* const to = ring_.inline_of(pos_.tail);
    if (to == nullptr) return ENOMEM;
    if (!keys_->gather(wr.sg_list, wr.num_sge, to)) return EFAULT;
    sges[e.num_sge++] = {reinterpret_cast<uint64_t>(to), e.length, 0};
  }
  ++pos_.tail;
  return 0;
}

int Requester::would_take(const ibv_send_wr* list) const {
  uint32_t n = 0;
  for (; list != nullptr; list = list->next, ++n) {
    uint64_t length;
    if (const int error = validate(*list, &length)) return error;
  }
  return slots_.has_room(n, shape_.max_wr) ? 0 : ENOMEM;
}

int Requester::post(const ibv_send_wr& wr) {
  const Checked checked(this);
  uint64_t length;
  if (const int error = validate(wr, &length)) return error;
  if (pos_.tail - pos_.head >= ring_.size() || !slots_.take(shape_.max_wr)) return ENOMEM;
  if (const int error = fill(wr, length)) {
    slots_.release(1);
    return error;
  }
  if (stopped_) flush();
  return 0;
}

void Requester::advance() {
  const Checked checked(this);
  if (stopped_) return;
  send_cleared();
  if (pos_.sent == pos_.tail || stopped_) return;
  Batch batch(outbox_);
  while (pos_.sent != pos_.tail && batch.room() && transmit(pos_.sent, &batch)) ++pos_.sent;
  if (stopped_) return;
  batch.flush();
  if (batch.broken) fail_request(pos_.head, IBV_WC_LOC_QP_OP_ERR);
}

// False: it has to wait, and with it everything behind it.
bool Requester::transmit(uint64_t index, Batch* batch) {
  SendRequest& e = ring_.at(index);
  if (e.flags.fenced && reads_ > 0) return false;  // [VRB-REQ-4]
  if (e.opcode == IBV_WR_SEND || e.opcode == IBV_WR_SEND_WITH_IMM) return transmit_send(index, batch);
  if (!announced_.empty()) return false;  // data of an earlier SEND has not gone out yet [VRB-REQ-3]
  if (e.opcode == IBV_WR_RDMA_READ) return transmit_read(index, batch);
  if (e.message) return transmit_atomic(index, batch);
  // [VRB-REQ-1]
  ibv_send_wr* const wr = batch->add();
  wr->wr_id = outbox_->wr_id(ring_.slot_of(index));
  wr->opcode = e.opcode;
  if (e.flags.signaled) wr->send_flags |= IBV_SEND_SIGNALED;
  if (e.flags.inlined) wr->send_flags |= IBV_SEND_INLINE;
  if (e.flags.solicited) wr->send_flags |= IBV_SEND_SOLICITED;
  wr->sg_list = ring_.sges_of(index);
  wr->num_sge = e.num_sge;
  wr->imm_data = e.imm;
  wr->wr.rdma = {e.remote_addr, e.rkey};
  return true;
}

// Header and data in one write, or the announcement alone. [VRB-REQ-2]
bool Requester::transmit_send(uint64_t index, Batch* batch) {
  SendRequest& e = ring_.at(index);
  if (window_.full()) return false;
  Request request;
  request.length = e.length;
  if (e.opcode == IBV_WR_SEND_WITH_IMM) {
    request.flags |= kWithImmediate;
    request.immediate = e.imm;
  }
  if (e.flags.solicited) request.flags |= kSolicited;
  const bool eager = e.length <= kEagerBytes;
  if (!eager) announced_.add(window_.next());
  stage(index, eager ? Note::kSend : Note::kReady, request, nullptr, 0, batch);
  if (eager && e.num_sge > 0) {
    ibv_send_wr& wr = batch->wrs[batch->count - 1];
    std::copy_n(ring_.sges_of(index), e.num_sge, batch->own_sges() + 1);
    wr.num_sge += e.num_sge;
    if (e.flags.inlined) wr.send_flags |= IBV_SEND_INLINE;
  }
  return true;
}

// Its own memory does not admit it. Requests before it may succeed: the error waits until they have. It does not wait
// for an unsignaled WRITE, whose end only a later completion would show. False, as of everything that is not
// transmitted.
bool Requester::refuse_locally(uint64_t index) {
  for (uint64_t i = pos_.head; i < index; ++i)
    if (ring_.at(i).message || ring_.at(i).flags.signaled) return false;
  fail_request(index, IBV_WC_LOC_PROT_ERR);
  return false;
}

bool Requester::transmit_read(uint64_t index, Batch* batch) {
  SendRequest& e = ring_.at(index);
  if (window_.full() || reads_ >= limits_.reads) return false;
  Segment segments[kMaxSegments];
  for (uint32_t i = 0; i < e.num_sge; ++i) {
    const std::optional<Segment> segment = keys_->landing(ring_.sges_of(index)[i], shape_.domain);
    if (!segment) return refuse_locally(index);
    segments[i] = *segment;
  }
  Request request;
  request.length = e.length;
  request.remote_addr = e.remote_addr;
  request.rkey = e.rkey;
  ++reads_;
  stage(index, Note::kRead, request, segments, e.num_sge, batch);
  return true;
}

bool Requester::transmit_atomic(uint64_t index, Batch* batch) {
  SendRequest& e = ring_.at(index);
  if (window_.full() || reads_ >= limits_.reads) return false;
  const ibv_sge& sge = ring_.sges_of(index)[0];
  if (!keys_->allowed(sge.lkey, sge.addr, sge.length, IBV_ACCESS_LOCAL_WRITE, shape_.domain))
    return refuse_locally(index);
  Request request;
  request.length = e.length;
  request.remote_addr = e.remote_addr;
  request.rkey = e.rkey;
  request.operand = e.operand;
  request.swap = e.swap;
  if (e.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) request.flags |= kCompareSwap;
  ++reads_;
  stage(index, Note::kAtomic, request, nullptr, 0, batch);
  return true;
}

// Gives the message its number and puts its header in the batch.
void Requester::stage(uint64_t index, Note note, const Request& request, const Segment* segments, uint32_t count,
                      Batch* batch) {
  SendRequest& e = ring_.at(index);
  e.number = window_.add(index);
  const auto number = static_cast<uint32_t>(e.number & kNumberMask);
  Request numbered = request;
  numbered.note = note;
  numbered.number = number;
  numbered.segments = static_cast<uint16_t>(count);
  numbered.reply_psn = limits_.reply_psn;
  if (const std::optional<uint32_t> confirmed = link_->take_confirmation()) {
    numbered.confirmed = *confirmed;
    numbered.flags |= kConfirms;
  }
  uint8_t* const staged = outbox_->staging().request(number);
  encode(numbered, staged);
  encode_segments(segments, count, staged + kHeaderBytes);
  ibv_send_wr* const wr = batch->add();
  batch->own_sges()[0] = outbox_->staging().sge(staged, kHeaderBytes + count * kSegmentBytes);
  // An announced SEND is completed by the write of its last note.
  wr->wr_id = outbox_->wr_id(note == Note::kReady ? Outbox::kInternal : ring_.slot_of(index));
  wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr->send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
  wr->sg_list = batch->own_sges();
  wr->num_sge = 1;
  wr->imm_data = pack({note, 0, number});
  wr->wr.rdma = {request_offset(number), MRC_SOFT_MAILBOX_RKEY};
}

void Requester::send_cleared() {
  while (!announced_.empty() && !stopped_) {
    AnnouncedSends::Send& a = announced_.front();
    if (!a.cleared || outbox_->room() < a.count + 1u) return;
    const uint64_t index = window_.index_of(a.number);
    announced_.pop();
    if (!write_data(index, a.segments.data(), a.count)) fail_request(index, IBV_WC_REM_OP_ERR);
  }
}

// The data of an announced SEND, one write per segment of the receiver, then the note that it is there.
bool Requester::write_data(uint64_t index, const Segment* segments, uint32_t count) {
  SendRequest& e = ring_.at(index);
  const ibv_sge* from = ring_.sges_of(index);
  uint32_t source = 0, offset = 0, left = e.length;
  for (uint32_t i = 0; i < count && left > 0; ++i) {
    ibv_sge pieces[kMaxSegments];
    ibv_send_wr wr{};
    wr.sg_list = pieces;
    uint32_t room = std::min(segments[i].length, left);
    left -= room;
    while (room > 0 && source < e.num_sge) {
      const uint32_t n = std::min(room, from[source].length - offset);
      pieces[wr.num_sge++] = {from[source].addr + offset, n, from[source].lkey};
      room -= n;
      offset += n;
      if (offset == from[source].length) {
        ++source;
        offset = 0;
      }
    }
    wr.wr_id = outbox_->wr_id(ring_.slot_of(index));  // completes only if it fails
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma = {segments[i].addr, segments[i].key};
    if (!outbox_->post(&wr, 1)) return false;
  }
  if (left > 0) return false;  // the receiver provided too little memory
  ibv_send_wr wr{};
  wr.wr_id = outbox_->wr_id(ring_.slot_of(index));
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.imm_data = pack({Note::kFinish, 0, static_cast<uint32_t>(e.number & kNumberMask)});
  wr.wr.rdma.rkey = MRC_SOFT_MAILBOX_RKEY;
  return outbox_->post(&wr, 1);
}

}  // namespace mrc::shim
