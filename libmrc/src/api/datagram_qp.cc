#include "api/datagram_qp.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "api/context.h"
#include "api/cq.h"
#include "api/errors.h"
#include "api/faults.h"
#include "api/inherited.h"
#include "api/limits.h"
#include "api/qp_attr.h"
#include "api/wc_status.h"

using mrc::api::errno_value;
using mrc::api::null_with;
using mrc::api::SoftPd;
using mrc::core::QpState;

namespace {

// All are of the first shard, so that they can share receive queues and groups.
constexpr uint32_t kShard = 0;
constexpr uint32_t kPsnMask = 0xFFFFFF;
constexpr int kDatagramAttributes = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY |
                                    IBV_QP_SQ_PSN | IBV_QP_ACCESS_FLAGS;

// 0, or an errno value.
int check_init(mrc_context* context, const mrc_soft_ud_init_attr& init) {
  if (init.send_cq == nullptr || init.recv_cq == nullptr || init.pd == nullptr) return EINVAL;
  if (init.send_cq->ev_events != nullptr || init.recv_cq->ev_events != nullptr) return EINVAL;
  if (init.send_cq->context() != context || init.recv_cq->context() != context) return EINVAL;
  const SoftPd* const domain = SoftPd::of(init.pd);
  if (domain == nullptr || domain->soft != &context->soft()) return EINVAL;
  if (init.srq != nullptr && init.srq->soft != domain->soft) return EINVAL;
  const ibv_qp_cap& cap = init.cap;
  if (cap.max_send_wr > mrc::api::kMaxQpWr || cap.max_send_sge > mrc::api::kMaxSge ||
      cap.max_inline_data > mrc::api::kMaxInline)
    return EINVAL;
  // Meaningless beside a shared receive queue. [API-UD-1]
  return init.srq == nullptr && (cap.max_recv_wr > mrc::api::kMaxQpWr || cap.max_recv_sge > mrc::api::kMaxSge) ? EINVAL
                                                                                                               : 0;
}

// The attributes that a transition requires, as those of kernel drivers [API-UD-2].
int required(QpState from, QpState to) {
  if (from == QpState::kReset && to == QpState::kInit) return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  if (from == QpState::kRtr && to == QpState::kRts) return IBV_QP_SQ_PSN;
  return 0;
}

}  // namespace

mrc_soft_ud_srq::mrc_soft_ud_srq(ibv_pd* domain, uint32_t max_wr, uint32_t sges)
    : pd(mrc::api::hold_pd(domain)),
      soft(SoftPd::of(domain)->soft),
      max_sge(sges),
      queue(max_wr, sges, SoftPd::of(domain)->id, true) {}

mrc_soft_ud_qp::mrc_soft_ud_qp(mrc_context* context, const mrc_soft_ud_init_attr& init)
    : context_(context), init_(init), pd_(mrc::api::hold_pd(init.pd)), pd_id_(SoftPd::of(init.pd)->id) {
  ibv_qp_cap& cap = init_.cap;
  cap.max_send_wr = std::max(cap.max_send_wr, 1u);
  cap.max_send_sge = std::max(cap.max_send_sge, 1u);
  cap.max_recv_wr = init_.srq != nullptr ? 1 : std::max(cap.max_recv_wr, 1u);
  cap.max_recv_sge = init_.srq != nullptr ? 1 : std::max(cap.max_recv_sge, 1u);
  context_->add_child();
  init_.send_cq->attach(kShard);
  init_.recv_cq->attach(kShard);
  if (init_.srq != nullptr) init_.srq->users.fetch_add(1);
}

mrc_soft_ud_qp::~mrc_soft_ud_qp() {
  if (init_.srq != nullptr) init_.srq->users.fetch_sub(1);
  init_.recv_cq->detach(kShard);
  init_.send_cq->detach(kShard);
  context_->remove_child();
}

mrc::device::Device& mrc_soft_ud_qp::device() const {
  return context_->device();
}

void mrc_soft_ud_qp::purge_completions() {
  init_.send_cq->purge(kShard, &slots_);
  init_.recv_cq->purge(kShard, &slots_);
}

int mrc_soft_ud_qp::start() {
  mrc::device::Device& dev = device();
  const uint32_t mtu = dev.active_mtu();
  const mrc::device::DeviceLock lock(dev.mutex());
  attr_.path_mtu = mtu;
  if (init_.srq == nullptr)
    own_receives_ =
        std::make_unique<mrc::core::DatagramReceiveQueue>(init_.cap.max_recv_wr, init_.cap.max_recv_sge, pd_id_, false);
  qpn_ = dev.qpns().take();
  if (qpn_ == mrc::Qpn()) return ENOMEM;
  mrc::core::DatagramQpInit init;
  init.sink = this;
  init.qpn = qpn_;
  init.pd = pd_id_;
  init.caps = {init_.cap.max_send_wr, init_.cap.max_recv_wr, init_.cap.max_send_sge, init_.cap.max_inline_data};
  init.receive = init_.srq != nullptr ? &init_.srq->queue : own_receives_.get();
  engine_ = dev.endpoint().create_datagram_qp(init);
  if (engine_ != nullptr) return 0;
  dev.qpns().give(qpn_);
  return ENOMEM;
}

void mrc_soft_ud_qp::stop() {
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  dev.transmit_locked();
  // By another thread, after the check of the caller.
  for (const mrc::IpAddress& group : dev.endpoint().groups_of(engine_)) (void)dev.detach_locked(engine_, group);
  dev.endpoint().destroy_datagram_qp(engine_);
  dev.qpns().give(qpn_);
  purge_completions();
}

int mrc_soft_ud_qp::modify(const ibv_qp_attr& attr, int mask) {
  mrc::device::Device& dev = device();
  const mrc::device::DeviceLock lock(dev.mutex());
  const QpState from = dev.endpoint().datagram_qp_state(engine_);
  const std::optional<QpState> wanted =
      (mask & IBV_QP_STATE) != 0 ? mrc::api::state_from_verbs(mrc::api::raw(attr.qp_state)) : from;
  if ((mask & ~kDatagramAttributes) != 0 || !wanted) return EINVAL;
  const QpState to = *wanted;
  if ((mask & IBV_QP_CUR_STATE) != 0 && mrc::api::state_from_verbs(mrc::api::raw(attr.cur_qp_state)) != from)
    return EINVAL;
  if ((mask & required(from, to)) != required(from, to)) return EINVAL;
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && attr.pkey_index >= mrc::api::kPkeys) return EINVAL;
  if ((mask & IBV_QP_PORT) != 0 && (attr.port_num < 1 || attr.port_num > dev.planes())) return EINVAL;
  if ((mask & IBV_QP_SQ_PSN) != 0 && from != QpState::kRtr) return EINVAL;
  mrc::core::DatagramAttr next = attr_;
  if ((mask & IBV_QP_QKEY) != 0) next.qkey = attr.qkey;
  if ((mask & IBV_QP_SQ_PSN) != 0) next.sq_psn = mrc::Psn(attr.sq_psn & kPsnMask);
  const bool same_state = (mask & IBV_QP_STATE) == 0;
  if (same_state && from == QpState::kReset) return EINVAL;
  if (!dev.endpoint().modify_datagram_qp(dev.now(), engine_, to, next)) return EINVAL;
  attr_ = next;
  if (to == QpState::kReset) {
    purge_completions();
    slots_.clear();
  }
  return 0;
}

// [API-CQ-6] [API-UD-4]
bool mrc_soft_ud_qp::on_completion(const mrc::core::Completion& c) {
  ibv_wc wc{};
  wc.wr_id = c.wr_id;
  wc.status = mrc::api::to_verbs(c.status);
  wc.qp_num = qpn_.value();
  wc.opcode = c.is_recv ? IBV_WC_RECV : IBV_WC_SEND;
  if (c.is_recv && c.status == mrc::core::WcStatus::kSuccess) {
    wc.byte_len = c.byte_len;
    wc.src_qp = c.src_qpn.value();
    wc.wc_flags = IBV_WC_GRH;
    if (c.with_imm) wc.wc_flags |= IBV_WC_WITH_IMM;
    wc.imm_data = c.imm;
    wc.sl = c.v4_header ? MRC_SOFT_UD_IPV4 : MRC_SOFT_UD_IPV6;
    wc.vendor_err = c.solicited ? MRC_SOFT_UD_SOLICITED : 0;
  }
  mrc_cq* const cq = c.is_recv ? init_.recv_cq : init_.send_cq;
  return cq->push_or_overrun(kShard, wc, &slots_, c.is_recv ? 0 : c.slots, c.solicited);
}

extern "C" {

mrc_soft_ud_qp* mrc_soft_create_ud_qp(mrc_context* context, mrc_soft_ud_init_attr* attr) {
  if (context == nullptr || attr == nullptr) return null_with(EINVAL);
  if (mrc::api::inherited(context)) return null_with(EPERM);
  if (const int error = check_init(context, *attr)) return null_with(error);
  return mrc::api::or_enomem<mrc_soft_ud_qp*>(nullptr, [&]() -> mrc_soft_ud_qp* {
    auto made = std::make_unique<mrc_soft_ud_qp>(context, *attr);
    if (const int error = made->start()) return null_with(error);
    attr->cap = made->init().cap;
    return made.release();
  });
}

int mrc_soft_destroy_ud_qp(mrc_soft_ud_qp* qp) {
  if (qp == nullptr) return errno_value(EINVAL);
  if (qp->device().inherited()) return 0;
  if (qp->attached()) return errno_value(EBUSY);  // [API-UD-5]
  qp->stop();
  delete qp;
  return 0;
}

uint32_t mrc_soft_ud_qpn(mrc_soft_ud_qp* qp) {
  return qp != nullptr ? qp->qpn().value() : 0;
}

int mrc_soft_modify_ud_qp(mrc_soft_ud_qp* qp, const ibv_qp_attr* attr, int attr_mask) {
  if (qp == nullptr || attr == nullptr) return errno_value(EINVAL);
  if (qp->device().inherited()) return errno_value(EPERM);
  return mrc::api::or_enomem<int>(ENOMEM, [&] {
    mrc::api::catch_faults();
    const int error = qp->modify(*attr, attr_mask);
    return error == 0 ? 0 : errno_value(error);
  });
}

mrc_soft_ud_srq* mrc_soft_create_ud_srq(ibv_pd* pd, uint32_t max_wr, uint32_t max_sge) {
  const SoftPd* const domain = SoftPd::of(pd);
  if (domain == nullptr || max_wr < 1 || max_wr > mrc::api::kMaxQpWr || max_sge < 1 || max_sge > mrc::api::kMaxSge)
    return null_with(EINVAL);
  if (mrc::api::inherited(*domain->soft)) return null_with(EPERM);
  return mrc::api::or_enomem<mrc_soft_ud_srq*>(nullptr, [&] { return new mrc_soft_ud_srq(pd, max_wr, max_sge); });
}

int mrc_soft_destroy_ud_srq(mrc_soft_ud_srq* srq) {
  if (srq == nullptr) return errno_value(EINVAL);
  if (mrc::api::inherited(*srq->soft)) return 0;
  if (srq->users.load() > 0) return errno_value(EBUSY);
  delete srq;
  return 0;
}

}  // extern "C"
