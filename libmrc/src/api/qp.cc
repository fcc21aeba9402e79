#include "api/qp.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "api/context.h"
#include "api/cq.h"
#include "api/errors.h"
#include "api/hint.h"
#include "api/inherited.h"
#include "api/limits.h"
#include "api/soft_memory.h"
#include "api/wc_status.h"
#include "mrc_soft.h"

using mrc::api::errno_value;
using mrc::api::minus_one;
using mrc::api::null_with;
using mrc::core::AsyncEvent;
using mrc::core::WcStatus;

namespace {

constexpr int kFlushRounds = 16;  // each sends everything that fits into the driver
constexpr uint64_t kAllOps = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;

// [API-ASY-3]
std::optional<ibv_event_type> to_verbs(AsyncEvent event) {
  switch (event) {
    case AsyncEvent::kQpFatal:
    case AsyncEvent::kQpContradicted:
      return IBV_EVENT_QP_FATAL;
    case AsyncEvent::kQpRequestError:
      return IBV_EVENT_QP_REQ_ERR;
    case AsyncEvent::kQpAccessError:
      return IBV_EVENT_QP_ACCESS_ERR;
    case AsyncEvent::kPortDown:
    case AsyncEvent::kPortUp:
      break;
  }
  return std::nullopt;
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

mrc_qp::mrc_qp(mrc_context* context, const mrc_qp_init_attr& init, uint64_t full)
    : context_(context),
      place_(context->shards(), full),
      device_(context->shards()[shard()]),
      init_(init),
      pd_(mrc::api::hold_pd(init.pd)),
      settings_(mrc::api::initial_settings(device_.default_qp_attr())) {
  init_.send_cq->prepare(shard());
  init_.recv_cq->prepare(shard());
  ibv_qp_cap& cap = init_.cap;
  cap.max_send_wr = std::max(cap.max_send_wr, 1u);
  cap.max_recv_wr = std::max(cap.max_recv_wr, 1u);
  cap.max_send_sge = std::max(cap.max_send_sge, 1u);
  cap.max_recv_sge = std::max(cap.max_recv_sge, 1u);
  if (init_.send_ops_flags == 0) init_.send_ops_flags = kAllOps;
  init_.protocol_version = MRC_PROTOCOL_VERSION_1;
  context_->add_child();
  init_.send_cq->attach(shard());
  init_.recv_cq->attach(shard());
}

mrc_qp::~mrc_qp() {
  use_hint(nullptr);
  init_.recv_cq->detach(shard());
  init_.send_cq->detach(shard());
  context_->remove_child();
}

void mrc_qp::use_hint(mrc_qp_hint* hint) {
  if (settings_.mrc.qp_hint != nullptr) settings_.mrc.qp_hint->users.fetch_sub(1);
  settings_.mrc.qp_hint = hint;
  if (hint != nullptr) hint->users.fetch_add(1);
}

void mrc_qp::purge_completions() {
  init_.send_cq->purge(shard(), &slots_);
  init_.recv_cq->purge(shard(), &slots_);
}

int mrc_qp::start() {
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  qpn_ = dev.qpns().take();
  if (qpn_ == mrc::Qpn()) return ENOMEM;
  mrc::core::QpInit init;
  init.sink = this;
  init.qpn = qpn_;
  init.pd = mrc::api::SoftPd::of(init_.pd)->id;
  init.caps = {init_.cap.max_send_wr, init_.cap.max_recv_wr, init_.cap.max_send_sge, init_.cap.max_inline_data};
  engine_ = dev.endpoint().create_qp(init);
  if (engine_ != nullptr) return 0;
  dev.qpns().give(qpn_);
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
  if (peer_ != mrc::core::kNoPeer) dev.release_peer_locked(peer_);
  dev.qpns().give(qpn_);
  dev.profiles().release(profiles_);
  purge_completions();
}

// [API-CQ-6]
bool mrc_qp::on_completion(const mrc::core::Completion& c) {
  ibv_wc wc{};
  wc.wr_id = c.wr_id;
  wc.status = mrc::api::to_verbs(c.status);
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
  return cq->push_or_overrun(shard(), wc, &slots_, c.is_recv ? 0 : c.slots, c.solicited);
}

void mrc_qp::on_event(AsyncEvent e) {
  const std::optional<ibv_event_type> type = to_verbs(e);
  if (!type) return;
  mrc_async_event event{};
  event.event_type = *type;
  event.element.qp = this;
  context_->async.raise(event);
}

mrc::api::Destination mrc_qp::destination() const {
  mrc::api::Destination to;
  std::memcpy(to.dgid.bytes.data(), settings_.verbs.ah_attr.grh.dgid.raw, to.dgid.bytes.size());
  to.qpn = mrc::Qpn(settings_.verbs.dest_qp_num);
  return to;
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
  if (mrc::api::inherited(qp->context())) return errno_value(EPERM);
  const int error = qp->set_mailbox(addr, length, wr_id);
  return error == 0 ? 0 : errno_value(error);
}

void mrc_soft_mailbox_answered(mrc_qp* qp, uint32_t count) {
  if (qp != nullptr) qp->set_mailbox_answered(count);
}

mrc_qp* mrc_create_qp(mrc_context* mrc_ctx, mrc_qp_init_attr* mrc_qp_attr) {
  if (mrc_ctx == nullptr || mrc_qp_attr == nullptr) return null_with(EINVAL);
  if (mrc::api::inherited(mrc_ctx)) return null_with(EPERM);
  if (const int error = check_init(mrc_ctx, *mrc_qp_attr)) return null_with(error);
  return mrc::api::or_enomem<mrc_qp*>(nullptr, [&]() -> mrc_qp* {
    int error = 0;
    uint64_t full = 0;
    for (uint32_t tried = 0; tried < mrc_ctx->shards().size(); ++tried) {
      auto made = std::make_unique<mrc_qp>(mrc_ctx, *mrc_qp_attr, full);
      error = made->start();
      if (error == 0) {
        mrc_qp_attr->cap = made->cap();
        return made.release();
      }
      full |= uint64_t{1} << made->shard();
    }
    return null_with(error);
  });
}

int mrc_destroy_qp(mrc_qp* qp) {
  if (qp == nullptr) return errno_value(EINVAL);
  if (mrc::api::inherited(qp->context())) return 0;
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
