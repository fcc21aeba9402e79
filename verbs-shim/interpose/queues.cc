// Completion channels and queues, shared receive queues, queue pairs.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "interpose/export.h"
#include "interpose/out_of_memory.h"
#include "interpose/real.h"
#include "objects/base_qp.h"
#include "objects/completion_queue.h"
#include "objects/receive_queue.h"
#include "objects/verbs_ops.h"

using mrc::shim::BaseQp;
using mrc::shim::Channel;
using mrc::shim::Context;
using mrc::shim::Cq;
using mrc::shim::Srq;

// In a child of fork nothing of the parent's is destroyed: its threads may have held the locks at the fork, and the
// copy ends with the child. [VRB-FRK-1]
extern "C" {

MRC_EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (Context::is_ours(context))
    return mrc::shim::or_enomem<ibv_comp_channel*>(nullptr,
                                                   [&] { return (new Channel(Context::of(context)))->verbs(); });
  MRC_FORWARD(nullptr, ibv_create_comp_channel, "IBVERBS_1.0", context);
}
MRC_EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (Context::is_ours(channel->context)) {
    if (Context::of(channel->context)->inherited()) return 0;
    if (Channel::of(channel)->users.load() > 0) return with_errno(EBUSY);
    delete Channel::of(channel);
    return 0;
  }
  MRC_FORWARD(ENOSYS, ibv_destroy_comp_channel, "IBVERBS_1.0", channel);
}

MRC_EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                 int comp_vector) {
  if (Context::is_ours(context)) return mrc::shim::create_cq(context, cqe, cq_context, channel, comp_vector, 0);
  MRC_FORWARD(nullptr, ibv_create_cq, "IBVERBS_1.1", context, cqe, cq_context, channel, comp_vector);
}
MRC_EXPORT int ibv_resize_cq(ibv_cq* cq, int cqe) {
  if (Context::is_ours(cq->context))
    return with_errno(cqe < 1 || cqe > Cq::kMaxCqe ? EINVAL : mrc::shim::or_enomem<int>(ENOMEM, [&] {
      return Cq::of(cq)->resize(cqe);
    }));
  MRC_FORWARD(ENOSYS, ibv_resize_cq, "IBVERBS_1.1", cq, cqe);
}
MRC_EXPORT int ibv_destroy_cq(ibv_cq* cq) {
  if (Context::is_ours(cq->context)) {
    if (Context::of(cq->context)->inherited()) return 0;
    Cq* const ours = Cq::of(cq);
    if (ours->users.load() > 0) return with_errno(EBUSY);
    ours->forget_events();
    delete ours;
    return 0;
  }
  MRC_FORWARD(ENOSYS, ibv_destroy_cq, "IBVERBS_1.1", cq);
}
MRC_EXPORT int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  if (Context::is_ours(channel->context)) {
    Cq* found = nullptr;
    if (const int error = Channel::of(channel)->get(&found)) return errno = error, -1;
    *cq = found->verbs();
    *cq_context = found->verbs()->cq_context;
    return 0;
  }
  MRC_FORWARD(-1, ibv_get_cq_event, "IBVERBS_1.1", channel, cq, cq_context);
}
MRC_EXPORT void ibv_ack_cq_events(ibv_cq* cq, unsigned int nevents) {
  if (Context::is_ours(cq->context)) return Cq::of(cq)->acknowledge(nevents);
  if (auto real = MRC_REAL(ibv_ack_cq_events, "IBVERBS_1.1")) real(cq, nevents);
}

MRC_EXPORT ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  if (Context::is_ours(pd->context)) return mrc::shim::create_srq(pd, init);
  MRC_FORWARD(nullptr, ibv_create_srq, "IBVERBS_1.1", pd, init);
}
MRC_EXPORT int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) {
  if (Context::is_ours(srq->context))
    return with_errno(Context::of(srq->context)->inherited()
                          ? EPERM  // [VRB-FRK-1]
                          : mrc::shim::or_enomem<int>(ENOMEM, [&] { return Srq::of(srq)->modify(*attr, mask); }));
  MRC_FORWARD(ENOSYS, ibv_modify_srq, "IBVERBS_1.1", srq, attr, mask);
}
MRC_EXPORT int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) {
  if (Context::is_ours(srq->context)) {
    *attr = Srq::of(srq)->query();
    return 0;
  }
  MRC_FORWARD(ENOSYS, ibv_query_srq, "IBVERBS_1.1", srq, attr);
}
MRC_EXPORT int ibv_destroy_srq(ibv_srq* srq) {
  if (Context::is_ours(srq->context)) {
    if (Context::of(srq->context)->inherited()) return 0;
    Srq* const ours = Srq::of(srq);
    if (ours->users.load() > 0) return with_errno(EBUSY);
    ours->context()->async.forget(&ours->async_events, [srq](const ibv_async_event& e) {
      return e.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && e.element.srq == srq;
    });
    delete ours;
    return 0;
  }
  MRC_FORWARD(ENOSYS, ibv_destroy_srq, "IBVERBS_1.1", srq);
}

MRC_EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  if (Context::is_ours(pd->context)) {
    ibv_qp_init_attr_ex ex{};
    std::memcpy(static_cast<void*>(&ex), init, offsetof(ibv_qp_init_attr, sq_sig_all) + sizeof init->sq_sig_all);
    ex.comp_mask = IBV_QP_INIT_ATTR_PD;
    ex.pd = pd;
    ibv_qp* qp = mrc::shim::create_qp(pd->context, &ex);
    if (qp != nullptr) init->cap = ex.cap;
    return qp;
  }
  MRC_FORWARD(nullptr, ibv_create_qp, "IBVERBS_1.1", pd, init);
}
MRC_EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  if (Context::is_ours(qp->context)) return BaseQp::of(qp)->has_wr_interface() ? BaseQp::of(qp)->verbs_ex() : nullptr;
  MRC_FORWARD(nullptr, ibv_qp_to_qp_ex, "IBVERBS_1.6", qp);
}
MRC_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  if (Context::is_ours(qp->context))
    return with_errno(Context::of(qp->context)->inherited() ? EPERM
                                                            : BaseQp::of(qp)->modify(*attr, mask));  // [VRB-FRK-1]
  MRC_FORWARD(ENOSYS, ibv_modify_qp, "IBVERBS_1.1", qp, attr, mask);
}
MRC_EXPORT int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) {
  if (Context::is_ours(qp->context)) {
    BaseQp::of(qp)->query(attr, init);
    return 0;
  }
  MRC_FORWARD(ENOSYS, ibv_query_qp, "IBVERBS_1.1", qp, attr, mask, init);
}
// Data is written in order unless a setting ends that, so that nothing is promised. [VRB-RSP-13]
MRC_EXPORT int ibv_query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode op, uint32_t flags) {
  if (Context::is_ours(qp->context)) return 0;
  MRC_FORWARD(0, ibv_query_qp_data_in_order, "IBVERBS_1.14", qp, op, flags);
}
MRC_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  if (qp == nullptr) return with_errno(EINVAL);  // as qperf's server ends, by rdma_destroy_qp() of an id without one
  if (Context::is_ours(qp->context)) return Context::of(qp->context)->inherited() ? 0 : BaseQp::of(qp)->destroy();
  MRC_FORWARD(ENOSYS, ibv_destroy_qp, "IBVERBS_1.1", qp);
}
MRC_EXPORT int ibv_set_ece(ibv_qp* qp, ibv_ece* ece) {
  if (Context::is_ours(qp->context)) return with_errno(EOPNOTSUPP);
  MRC_FORWARD(ENOSYS, ibv_set_ece, "IBVERBS_1.10", qp, ece);
}
MRC_EXPORT int ibv_query_ece(ibv_qp* qp, ibv_ece* ece) {
  if (Context::is_ours(qp->context)) return with_errno(EOPNOTSUPP);
  MRC_FORWARD(ENOSYS, ibv_query_ece, "IBVERBS_1.10", qp, ece);
}
MRC_EXPORT int ibv_attach_mcast(ibv_qp* qp, const union ibv_gid* gid, uint16_t lid) {
  if (Context::is_ours(qp->context)) return with_errno(gid != nullptr ? BaseQp::of(qp)->attach_mcast(*gid) : EINVAL);
  MRC_FORWARD(ENOSYS, ibv_attach_mcast, "IBVERBS_1.1", qp, gid, lid);
}
MRC_EXPORT int ibv_detach_mcast(ibv_qp* qp, const union ibv_gid* gid, uint16_t lid) {
  if (Context::is_ours(qp->context)) return with_errno(gid != nullptr ? BaseQp::of(qp)->detach_mcast(*gid) : EINVAL);
  MRC_FORWARD(ENOSYS, ibv_detach_mcast, "IBVERBS_1.1", qp, gid, lid);
}

}  // extern "C"
