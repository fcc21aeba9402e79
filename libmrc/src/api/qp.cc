#include "api/qp.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include "api/context.h"
#include "api/cq.h"
#include "api/errors.h"
#include "api/hint.h"
#include "api/limits.h"
#include "api/soft_memory.h"
#include "mrc_soft.h"

using mrc::api::errno_value;
using mrc::api::minus_one;
using mrc::api::null_with;
using mrc::core::AsyncEvent;
using mrc::core::WcStatus;

namespace {

constexpr int kFlushRounds = 16;  // each sends everything that fits into the driver
constexpr uint64_t kAllOps = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;

ibv_wc_status to_verbs(WcStatus status) {
  switch (status) {
    case WcStatus::kSuccess:
      return IBV_WC_SUCCESS;
    case WcStatus::kLocalProtection:
      return IBV_WC_LOC_PROT_ERR;
    case WcStatus::kFlushed:
      return IBV_WC_WR_FLUSH_ERR;
    case WcStatus::kRemoteInvalidRequest:
      return IBV_WC_REM_INV_REQ_ERR;
    case WcStatus::kRemoteAccess:
      return IBV_WC_REM_ACCESS_ERR;
    case WcStatus::kRemoteOperation:
      return IBV_WC_REM_OP_ERR;
    case WcStatus::kRetryExceeded:
    case WcStatus::kPathMtu:
      return IBV_WC_RETRY_EXC_ERR;
  }
  return IBV_WC_GENERAL_ERR;
}

// [API-ASY-3]
bool to_verbs(AsyncEvent event, ibv_event_type* out) {
  switch (event) {
    case AsyncEvent::kQpFatal:
    case AsyncEvent::kQpContradicted:
      *out = IBV_EVENT_QP_FATAL;
      return true;
    case AsyncEvent::kQpRequestError:
      *out = IBV_EVENT_QP_REQ_ERR;
      return true;
    case AsyncEvent::kQpAccessError:
      *out = IBV_EVENT_QP_ACCESS_ERR;
      return true;
    case AsyncEvent::kPortDown:
    case AsyncEvent::kPortUp:
      return false;
  }
  return false;
}

// 0, or an errno value.
int check_init(mrc_context* context, const mrc_qp_init_attr& init) {
  if (init.send_cq == nullptr || init.recv_cq == nullptr || init.pd == nullptr) return EINVAL;
  if (init.send_cq->ev_events != nullptr || init.recv_cq->ev_events != nullptr) return EINVAL;  // [MRC-EVT-1]
  if (init.send_cq->context() != context || init.recv_cq->context() != context) return EINVAL;
  const mrc::api::SoftPd* domain = mrc::api::SoftPd::of(init.pd);
  if (domain == nullptr || domain->soft != &context->soft()) return EINVAL;
  const ibv_qp_cap& cap = init.cap;
  if (cap.max_send_wr > mrc::api::kMaxQpWr || cap.max_recv_wr > mrc::api::kMaxQpWr ||
      cap.max_send_sge > mrc::api::kMaxSge || cap.max_recv_sge > mrc::api::kMaxSge ||
      cap.max_inline_data > mrc::api::kMaxInline)
    return EINVAL;
  if ((init.send_ops_flags & ~kAllOps) != 0) return EOPNOTSUPP;
  const int version = mrc::api::raw(init.protocol_version);
  if (version < MRC_PROTOCOL_VERSION_0 || version > MRC_PROTOCOL_VERSION_1) return EOPNOTSUPP;
  return 0;
}

}  // namespace

mrc_qp::mrc_qp(mrc_context* context, const mrc_qp_init_attr& init)
    : context_(context),
      init_(init),
      pd_(mrc::api::hold_pd(init.pd)),
      settings_(mrc::api::initial_settings(context->device().default_qp_attr())) {
  ibv_qp_cap& cap = init_.cap;
  cap.max_send_wr = std::max(cap.max_send_wr, 1u);
  cap.max_recv_wr = std::max(cap.max_recv_wr, 1u);
  cap.max_send_sge = std::max(cap.max_send_sge, 1u);
  cap.max_recv_sge = std::max(cap.max_recv_sge, 1u);
  if (init_.send_ops_flags == 0) init_.send_ops_flags = kAllOps;
  init_.protocol_version = MRC_PROTOCOL_VERSION_1;
  context_->add_child();
  init_.send_cq->users.fetch_add(1);
  init_.recv_cq->users.fetch_add(1);
}

mrc_qp::~mrc_qp() {
  use_hint(nullptr);
  init_.recv_cq->users.fetch_sub(1);
  init_.send_cq->users.fetch_sub(1);
  context_->remove_child();
}

mrc::device::Device& mrc_qp::device() const {
  return context_->device();
}

void mrc_qp::use_hint(mrc_qp_hint* hint) {
  if (settings_.mrc.qp_hint != nullptr) settings_.mrc.qp_hint->users.fetch_sub(1);
  settings_.mrc.qp_hint = hint;
  if (hint != nullptr) hint->users.fetch_add(1);
}

void mrc_qp::purge_completions() {
  init_.send_cq->purge(this);
  init_.recv_cq->purge(this);
}

int mrc_qp::start() {
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  qpn_ = dev.allocate_qpn_locked();
  if (qpn_ == mrc::Qpn()) return ENOMEM;
  mrc::core::QpInit init;
  init.cookie = static_cast<mrc::device::QpObserver*>(this);
  init.qpn = qpn_;
  init.pd = mrc::api::SoftPd::of(init_.pd)->id;
  init.caps = {init_.cap.max_send_wr, init_.cap.max_recv_wr, init_.cap.max_send_sge, init_.cap.max_inline_data};
  engine_ = dev.endpoint().create_qp(init);
  if (engine_ != nullptr) return 0;
  dev.release_qpn_locked(qpn_);
  return ENOMEM;
}

// The QP's pending acknowledgements are sent first: a server destroys its QP right after its last receive completion,
// while the client still waits for the ACK of that very write (spec/clients.md rule 2). If that ACK is lost on the way,
// the engine answers for the destroyed QP for a while. [API-QP-8]
void mrc_qp::stop() {
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  dev.endpoint().flush_acks(engine_);
  for (int i = 0; i < kFlushRounds && dev.endpoint().qp_busy(engine_); ++i) dev.transmit_locked();
  dev.endpoint().destroy_qp(engine_);
  if (peer_ != mrc::core::kNoPeer) dev.endpoint().release_peer(peer_);
  dev.release_qpn_locked(qpn_);
  dev.profiles().release(profiles_);
  purge_completions();
}

// [API-CQ-6]
bool mrc_qp::on_completion(const mrc::core::Completion& c) {
  ibv_wc wc{};
  wc.wr_id = c.wr_id;
  wc.status = to_verbs(c.status);
  if (c.status == WcStatus::kPathMtu) wc.vendor_err = MRC_SOFT_VENDOR_ERR_PATH_MTU;
  wc.qp_num = qpn_.value();
  wc.byte_len = c.byte_len;
  if (c.is_recv) {
    wc.opcode = c.with_imm || c.status == WcStatus::kSuccess ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
    wc.src_qp = settings_.verbs.dest_qp_num;
    if (c.mailbox) wc.opcode = MRC_SOFT_WC_MAILBOX;
    if (c.with_imm) {
      wc.wc_flags = IBV_WC_WITH_IMM;
      wc.imm_data = c.imm;
    }
  } else {
    wc.opcode = IBV_WC_RDMA_WRITE;
  }
  mrc_cq* cq = c.is_recv ? init_.recv_cq : init_.send_cq;
  if (cq->push(wc, this, c.is_recv ? 0 : c.slots, c.solicited)) return true;
  if (cq->mark_overrun()) {
    mrc_async_event event{};
    event.element.cq = cq;
    event.event_type = IBV_EVENT_CQ_ERR;
    context_->async.raise(event);
  }
  return false;
}

void mrc_qp::on_event(AsyncEvent e) {
  mrc_async_event event{};
  if (!to_verbs(e, &event.event_type)) return;
  event.element.qp = this;
  context_->async.raise(event);
}

int mrc_qp::set_mailbox(void* addr, size_t length, uint64_t wr_id) {
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  const mrc::core::QpState state = dev.endpoint().qp_state(engine_);
  if (state != mrc::core::QpState::kReset && state != mrc::core::QpState::kInit) return EINVAL;
  dev.endpoint().set_mailbox(engine_, {static_cast<uint8_t*>(addr), length, wr_id, addr != nullptr});
  return 0;
}

extern "C" {

int mrc_soft_set_mailbox(mrc_qp* qp, void* addr, size_t length, uint64_t wr_id) {
  if (qp == nullptr || (addr == nullptr) != (length == 0)) return errno_value(EINVAL);
  const int error = qp->set_mailbox(addr, length, wr_id);
  return error == 0 ? 0 : errno_value(error);
}

mrc_qp* mrc_create_qp(mrc_context* mrc_ctx, mrc_qp_init_attr* mrc_qp_attr) {
  if (mrc_ctx == nullptr || mrc_qp_attr == nullptr) return null_with(EINVAL);
  if (const int error = check_init(mrc_ctx, *mrc_qp_attr)) return null_with(error);
  return mrc::api::or_enomem<mrc_qp*>(nullptr, [&]() -> mrc_qp* {
    auto made = std::make_unique<mrc_qp>(mrc_ctx, *mrc_qp_attr);
    if (const int error = made->start()) return null_with(error);
    mrc_qp_attr->cap = made->cap();
    return made.release();
  });
}

int mrc_destroy_qp(mrc_qp* qp) {
  if (qp == nullptr) return errno_value(EINVAL);
  qp->stop();
  qp->context()->forget_events(qp);
  delete qp;
  return 0;
}

int mrc_get_qpn(mrc_qp* qp, uint32_t* qpn) {
  if (qp == nullptr || qpn == nullptr) return minus_one(EINVAL);
  *qpn = qp->qpn().value();
  return 0;
}

}  // extern "C"
