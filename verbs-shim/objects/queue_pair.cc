// Making, destroying and serving a queue pair. Attributes and states are in queue_pair_modify.cc.
#include "objects/queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "invariant.h"
#include "progress/settle.h"
#include "settings/log.h"

namespace mrc::shim {

namespace {

constexpr uint32_t kMaxMrcSlots = 32768;   // of MRC's send queue
constexpr uint64_t kMemoryWait = 1000000;  // nanoseconds from one attempt to post to the next

}  // namespace

Qp::Qp(Context* context, const ibv_qp_init_attr_ex& init)
    : BaseQp(context, init),
      mrc_slots_(std::min(kMaxMrcSlots, 2 * init.cap.max_send_wr + 6 * kWindow)),
      mrc_receives_(std::clamp(srq_ != nullptr ? kMaxImmediates : init.cap.max_recv_wr, 1u, kMaxImmediates)),
      memory_(context->api()),
      mrc_(context->api()) {}

Qp::~Qp() {
  mrc_.destroy();
  if (id_ == UINT32_MAX) return;
  const MutexLock pump(context_->pump_mutex());  // the making of it failed half-way
  context_->remove(id_, completions());
}

// The maximum of the queue pair's entries in the MRC completion queue.
uint32_t Qp::completions() const {
  return mrc_slots_ + mrc_receives_ + 4 * kWindow;
}

bool Qp::make() {
  if (!memory_.make(pd_->soft())) return false;
  id_ = context_->add(this, completions());
  if (id_ == UINT32_MAX) return false;
  MrcQp mrc(context_->api());
  const bool made = make_mrc(&mrc);
  if (made) {
    make_halves(mrc.number());
    fill_handle(mrc.number());
  }
  const MutexLock lock(mutex_);
  mrc_ = std::move(mrc);
  return ready_ = made;
}

bool Qp::make_mrc(MrcQp* mrc) {
  const ibv_qp_cap& cap = init_.cap;
  mrc_qp_init_attr init{};
  init.qp_context = this;
  init.send_cq = init.recv_cq = context_->pump_queue().cq();
  init.cap.max_send_wr = mrc_slots_;
  init.cap.max_recv_wr = mrc_receives_;
  init.cap.max_send_sge = std::max(cap.max_send_sge, 1u) + 1;
  init.cap.max_recv_sge = 1;
  init.cap.max_inline_data = cap.max_inline_data + kHeaderBytes;
  init.pd = pd_->soft();
  // The mailbox is independent of the access flags of the queue pair. [VRB-QP-2]
  return mrc->create(context_->mrc(), &init) && mrc->set_mailbox(memory_.mailbox(), kMailboxBytes, tag());
}

void Qp::make_halves(uint32_t qpn) {
  const ibv_qp_cap& cap = init_.cap;
  if (srq_ == nullptr) receives_ = std::make_unique<ReceiveQueue>(cap.max_recv_wr, cap.max_recv_sge);
  outbox_ = std::make_unique<Outbox>(this, mrc_slots_, id_, memory_.staging());
  Requester::Shape sending;
  sending.max_wr = std::max(cap.max_send_wr, 1u);
  sending.max_sge = std::max(cap.max_send_sge, 1u);
  sending.max_inline = cap.max_inline_data;
  sending.signal_all = init_.sq_sig_all != 0;
  sending.qpn = qpn;
  sending.domain = pd_->root();
  requester_ = std::make_unique<Requester>(this, outbox_.get(), &context_->keys(), sending);
  Responder::Shape serving;
  serving.immediates = mrc_receives_;
  serving.qpn = qpn;
  serving.domain = pd_->root();
  responder_ = std::make_unique<Responder>(this, outbox_.get(), &context_->keys(), serving);
}

BaseQp* Qp::create(Context* context, const ibv_qp_init_attr_ex* init) {
  std::unique_ptr<Qp, void (*)(Qp*)> qp(new Qp(context, *init), [](Qp* q) { delete q; });
  if (!qp->make()) {
    const int error = errno;
    qp.reset();
    errno = error != 0 ? error : ENOMEM;
    return nullptr;
  }
  return qp.release();
}

int Qp::destroy() {
  abandon();
  settle_one_of_many(context_, [this] { return settled(); });
  {
    const MutexLock pump(context_->pump_mutex());
    if (srq_ != nullptr) srq_->forget(this);
    {
      const MutexLock lock(mutex_);
      mrc_.destroy();
      outbox_->drop();
    }
    context_->remove(id_, completions());
    id_ = UINT32_MAX;
    send_cq_->purge(this);
    recv_cq_->purge(this);
  }
  forget_async_events();
  delete this;
  return 0;
}

int Qp::post_send(ibv_send_wr* wr, ibv_send_wr** bad) {
  const MutexLock lock(mutex_);
  int error = state_ == IBV_QPS_RTS || state_ == IBV_QPS_ERR ? 0 : EINVAL;
  while (wr != nullptr && error == 0) {
    error = requester_->post(*wr);
    if (error == 0) wr = wr->next;
  }
  requester_->advance();
  check();
  if (error != 0 && bad != nullptr) *bad = wr;
  return error;
}

int Qp::post_all(ibv_send_wr* wr) {
  const MutexLock lock(mutex_);
  if (state_ != IBV_QPS_RTS && state_ != IBV_QPS_ERR) return EINVAL;
  if (const int error = requester_->would_take(wr)) return error;
  for (; wr != nullptr; wr = wr->next)
    if (const int error = requester_->post(*wr)) return error;
  requester_->advance();
  check();
  return 0;
}

int Qp::post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad) {
  const MutexLock lock(mutex_);
  int error = srq_ != nullptr || state_ == IBV_QPS_RESET ? EINVAL : 0;
  while (wr != nullptr && error == 0) {
    error = receives_->push(*wr);
    if (error == 0) wr = wr->next;
  }
  if (state_ == IBV_QPS_ERR) {
    flush_receives();
  } else if (responder_->waits_for_receive()) {
    responder_->run();
    if (responder_->has_deferred_work()) context_->defer(this);
    note_answers();
  }
  check();
  if (error != 0 && bad != nullptr) *bad = wr;
  return error;
}

void Qp::dispatch(const ibv_wc& wc) {
  if (wc.opcode == MRC_SOFT_WC_MAILBOX && wc.status == IBV_WC_SUCCESS) {
    answered_.on_message();
    const Immediate note = unpack(wc.imm_data);
    if (note.note < Note::kAck) {
      if (note.note != Note::kFinish) {
        const Request request = decode_request(memory_.mailbox() + request_offset(note.number));
        if (mrc_.operational() && !mrc_.sends()) mrc_.start_sending(request.reply_psn);
        if ((request.flags & kConfirms) != 0) requester_->on_confirmation(request.confirmed);
      }
      responder_->on_note(note, memory_.mailbox());
    } else {
      requester_->on_note(note, memory_.mailbox(), Context::now());
    }
  } else if ((wc.opcode & IBV_WC_RECV) != 0) {
    if (wc.status == IBV_WC_SUCCESS) responder_->on_write_imm(wc);
  } else {
    // No write of this side was the reason.
    if (wc.status == IBV_WC_WR_FLUSH_ERR && mrc_.operational() && state_ != IBV_QPS_ERR)
      awaits_event_ = !fail_by_lost_memory();
    requester_->on_completion(static_cast<uint32_t>(wc.wr_id), wc.status);
    if (mrc_error_pending_ && outbox_->own_in_flight() == 0) fail_mrc();
  }
}

// Continues what had to wait in both halves.
void Qp::advance() {
  if (state_ == IBV_QPS_RTS) requester_->advance();
  if (state_ != IBV_QPS_ERR) responder_->run();
}

// After a batch.
void Qp::end() {
  advance();
  if (responder_->consumed() * 2 >= mrc_receives_) post_mrc_receives(responder_->take_consumed());
  if (responder_->has_deferred_work()) context_->defer(this);
  note_answers();
  check();
  mutex_.unlock();
}

// [MRC-MBX-2]
void Qp::note_answers() {
  if (responder_->is_done() && !outbox_->waits_for_memory()) answered_.on_served(outbox_->posted_up_to_signalled());
  if (answered_.on_completed(outbox_->completed())) mrc_.mailbox_answered(answered_.count());
}

void Qp::serve() {
  const MutexLock lock(mutex_);
  if (const uint32_t n = responder_->take_consumed()) post_mrc_receives(n);
  responder_->flush_ack();
  if (responder_->has_deferred_work()) context_->defer(this);  // no room or memory: once more
  note_answers();
}

void Qp::post_mrc_receives(uint32_t n) {
  responder_->return_consumed(mrc_.post_receives(n, tag()));
}

void Qp::tick(uint64_t now) {
  const MutexLock lock(mutex_);
  if (!ready_) return;
  requester_->tick(now);
  if (!outbox_->waits_for_memory()) return;
  if (!outbox_->retry()) {
    fail(IBV_EVENT_QP_FATAL);
    if (mrc_error_pending_) fail_mrc();
  } else if (!outbox_->waits_for_memory()) {
    advance();
    note_answers();
  }
}

uint64_t Qp::deadline() {
  const MutexLock lock(mutex_);
  if (!ready_) return UINT64_MAX;
  return outbox_->waits_for_memory() ? Context::now() + kMemoryWait : requester_->deadline();
}

bool Qp::keep_alive() {
  const MutexLock lock(mutex_);
  return ready_ && state_ == IBV_QPS_RTS && requester_->keep_alive();
}

bool Qp::settled() {
  const MutexLock lock(mutex_);
  if (!mrc_.sends()) return true;
  return !responder_->ack_due() && outbox_->own_in_flight() == 0;
}

void Qp::abandon() {
  const MutexLock lock(mutex_);
  if (ready_ && mrc_.sends()) responder_->abandon();
}

bool Qp::confirmed() {
  const MutexLock lock(mutex_);
  return !mrc_.sends() || !responder_->ack_due();
}

int Qp::post(ibv_send_wr* list, ibv_send_wr** bad) {
  return mrc_.post(list, bad);
}

void Qp::complete_send(const ibv_wc& wc, uint32_t slots) {
  if (send_cq_->push(wc, this, slots, false)) return;
  release_slots(slots);
  overrun(send_cq_);
}

void Qp::complete_receive(const ibv_wc& wc, bool solicited) {
  if (!recv_cq_->push(wc, this, 0, solicited)) overrun(recv_cq_);
}

// A completion is lost, so the application would wait for it for ever. [VRB-CQ-1]
void Qp::overrun(Cq* cq) {
  if (cq->mark_overrun()) {
    ibv_async_event event{};
    event.element.cq = cq->verbs();
    event.event_type = IBV_EVENT_CQ_ERR;
    context_->raise(event);
  }
  fail(IBV_EVENT_QP_FATAL);
}

bool Qp::take_receive(Receive* out) {
  return srq_ != nullptr ? srq_->take(out, this) : receives_->pop(out);
}

void Qp::report_gone(const Access& a) {
  log_error("ibv_reg_mr",
            "queue pair 0x%x fails: address 0x%llx of the registered region 0x%llx of %llu bytes (key 0x%x) cannot be "
            "written any more; deregister memory before it is unmapped, truncated or protected",
            verbs()->qp_num, static_cast<unsigned long long>(a.address), static_cast<unsigned long long>(a.region),
            static_cast<unsigned long long>(a.length), a.key);
}

// MRC's queue pair has failed for something that the peer wrote. False: not to the memory of a request, so that no
// completion tells the reason. [VRB-RSP-14]
bool Qp::fail_by_lost_memory() {
  if (requester_->fail_lost_read()) return true;
  if (!responder_->find_lost_receive()) return false;
  fail(std::nullopt);
  return true;
}

void Qp::fail(std::optional<ibv_event_type> event) {
  if (state_ == IBV_QPS_ERR) return;
  if (event && !awaits_event_) raise(*event);
  enter_error_state();
}

// A request of the peer was refused, or memory is gone. Where a completion has told the reason there is no event.
// [VRB-EVT-1]
void Qp::on_mrc_event(ibv_event_type type) {
  const MutexLock lock(mutex_);
  if (!ready_ || (state_ == IBV_QPS_ERR && !awaits_event_)) return;
  if (awaits_event_ || !fail_by_lost_memory()) {
    awaits_event_ = false;
    raise(type);
    enter_error_state();
  }
  if (mrc_error_pending_) fail_mrc();  // it sends nothing any more
  check();
}

// MRC's queue pair is at work from INIT on, and in the error state only until the last message has gone out; in RTS it
// sends. Receive requests have one place.
void Qp::check() const {
  if constexpr (!kCheckInvariants) return;
  if (!ready_) return;
  MRC_INVARIANT((srq_ == nullptr) == (receives_ != nullptr));
  MRC_INVARIANT(!mrc_error_pending_ || state_ == IBV_QPS_ERR);
  MRC_INVARIANT(!awaits_event_ || state_ != IBV_QPS_RESET);
  if (state_ == IBV_QPS_RESET) MRC_INVARIANT(!mrc_.operational());
  if (state_ == IBV_QPS_ERR) MRC_INVARIANT(!mrc_.operational() || mrc_error_pending_);
  if (state_ == IBV_QPS_INIT || state_ == IBV_QPS_RTR) MRC_INVARIANT(mrc_.operational());
  if (state_ == IBV_QPS_RTS) MRC_INVARIANT(mrc_.sends());
}

}  // namespace mrc::shim
