// Creation of objects with the checks of verbs, and the tables of a context that libibverbs' inline functions call
// without a check: none that they use is null; unsupported ones return EOPNOTSUPP. [VRB-REF-1]
#include "objects/verbs_ops.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "interpose/out_of_memory.h"
#include "objects/address_vector.h"
#include "objects/completion_queue.h"
#include "objects/datagram_qp.h"
#include "objects/inline_room.h"
#include "objects/memory.h"
#include "objects/queue_pair.h"
#include "objects/receive_queue.h"

namespace mrc::shim {

namespace {

template <typename T>
T* null_with(int error) {
  errno = error;
  return nullptr;
}

int error_with(int error) {
  errno = error;
  return error;
}

}  // namespace

namespace {

// 0, or an errno value. [VRB-REF-1]
int check_qp(const ibv_context* context, const ibv_qp_init_attr_ex& init) {
  if (init.pd == nullptr || init.send_cq == nullptr || init.recv_cq == nullptr) return EINVAL;
  if (init.pd->context != context || init.send_cq->context != context || init.recv_cq->context != context ||
      (init.srq != nullptr && init.srq->context != context))
    return EINVAL;  // [VRB-QP-7]
  if (init.qp_type != IBV_QPT_RC && init.qp_type != IBV_QPT_UC && init.qp_type != IBV_QPT_UD) return EOPNOTSUPP;
  const ibv_qp_cap& cap = init.cap;
  if (cap.max_send_wr > BaseQp::kMaxWr || cap.max_recv_wr > BaseQp::kMaxWr || cap.max_send_sge > BaseQp::kMaxSge ||
      cap.max_recv_sge > BaseQp::kMaxSge || cap.max_inline_data > BaseQp::kMaxInline)
    return EINVAL;
  if ((init.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0 &&
      (init.send_ops_flags & ~supported_send_ops(init.qp_type)) != 0)
    return EOPNOTSUPP;
  constexpr uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  return (init.comp_mask & ~kKnown) != 0 ? EOPNOTSUPP : 0;
}

}  // namespace

int poll_cq_op(ibv_cq* cq, int num_entries, ibv_wc* wc) {
  return Cq::of(cq)->poll(num_entries, wc);
}

ibv_cq* create_cq(ibv_context* verbs, int cqe, void* cq_context, ibv_comp_channel* channel, int comp_vector,
                  uint64_t wc_flags) {
  if (cqe < 1 || cqe > Cq::kMaxCqe || comp_vector < 0 || comp_vector >= verbs->num_comp_vectors ||
      (channel != nullptr && channel->context != verbs))
    return null_with<ibv_cq>(EINVAL);
  Channel* const ours = channel != nullptr ? Channel::of(channel) : nullptr;
  return or_enomem<ibv_cq*>(nullptr,
                            [&] { return (new Cq(Context::of(verbs), cqe, cq_context, ours, wc_flags))->verbs(); });
}

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* init) {
  if (init->attr.max_wr == 0 || init->attr.max_wr > static_cast<uint32_t>(kMaxSrqWr) ||
      init->attr.max_sge > BaseQp::kMaxSge)
    return null_with<ibv_srq>(EINVAL);
  return or_enomem<ibv_srq*>(nullptr, [&] {
    auto* srq = new Srq(Context::of(pd->context), pd, init->srq_context, init->attr);
    init->attr.max_sge = srq->queue().max_sge();
    return srq->verbs();
  });
}

ibv_qp* create_qp(ibv_context* context, ibv_qp_init_attr_ex* init) {
  const ibv_qp_cap asked = init->cap;
  // Meaningless beside a shared receive queue, so programs leave there what they like. [VRB-QP-5]
  if (init->srq != nullptr) init->cap.max_recv_wr = init->cap.max_recv_sge = 0;
  BaseQp* const qp = or_enomem<BaseQp*>(nullptr, [&]() -> BaseQp* {
    int error = check_qp(context, *init);
    if (error == 0 && init->srq != nullptr) error = Srq::of(init->srq)->claim(init->qp_type == IBV_QPT_UD);
    if (error != 0) return null_with<BaseQp>(error);
    init->cap.max_inline_data = inline_room(init->cap);  // [VRB-QP-6]
    return init->qp_type == IBV_QPT_UD ? DatagramQp::create(Context::of(context), init)
                                       : Qp::create(Context::of(context), init);
  });
  if (qp != nullptr) return qp->verbs();
  init->cap = asked;
  return nullptr;
}

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (attr == nullptr || attr->port_num != 1) return null_with<ibv_ah>(EINVAL);
  ibv_ah_attr to = *attr;
  union ibv_gid gid;
  if (to.is_global ? query_gid(pd->context, 1, to.grh.sgid_index, &gid) != 0
                   : address_of_own_port(pd->context, &to) != 0)
    return null_with<ibv_ah>(EINVAL);
  return Context::of(pd->context)->api().mrc_soft_create_ah(pd, &to);
}

namespace {

ibv_mw* no_alloc_mw(ibv_pd*, ibv_mw_type) {
  return null_with<ibv_mw>(EOPNOTSUPP);
}
int no_bind_mw(ibv_qp*, ibv_mw*, ibv_mw_bind*) {
  return error_with(EOPNOTSUPP);
}
int no_dealloc_mw(ibv_mw*) {
  return error_with(EOPNOTSUPP);
}
int req_notify_cq(ibv_cq* cq, int solicited_only) {
  if (Cq::of(cq)->context()->inherited()) return EPERM;  // [VRB-FRK-1]
  Cq::of(cq)->arm(solicited_only != 0);
  return 0;
}

// In a child of fork nothing that is posted to a copy of the parent's would ever complete. Before any lock, which
// another thread of the parent may have held. [VRB-FRK-1]
template <typename Request>
int refuse_in_child(Request* wr, Request** bad) {
  if (bad != nullptr) *bad = wr;
  return error_with(EPERM);
}
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  BaseQp* const ours = BaseQp::of(qp);
  return ours->context()->inherited() ? refuse_in_child(wr, bad) : ours->post_send(wr, bad);
}
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  BaseQp* const ours = BaseQp::of(qp);
  return ours->context()->inherited() ? refuse_in_child(wr, bad) : ours->post_recv(wr, bad);
}
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Srq* const ours = Srq::of(srq);
  return ours->context()->inherited() ? refuse_in_child(wr, bad) : ours->post(wr, bad);
}

// The callers of these two give the size of the structure that they know.
int query_port_op(ibv_context* context, uint8_t port, ibv_port_attr* attr, size_t size) {
  ibv_port_attr full;
  if (const int error = query_port(context, port, &full)) return error_with(error);
  std::memset(attr, 0, size);
  std::memcpy(attr, &full, std::min(size, sizeof full));
  return 0;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                    size_t size) {
  if (input != nullptr && input->comp_mask != 0) return error_with(EINVAL);
  ibv_device_attr_ex full;
  std::memset(&full, 0, sizeof full);
  if (const int error = query_device(context, &full.orig_attr)) return error_with(error);
  full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
  full.phys_port_cnt_ex = full.orig_attr.phys_port_cnt;
  std::memset(attr, 0, size);
  std::memcpy(attr, &full, std::min(size, sizeof full));
  return 0;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init) {
  constexpr uint64_t kWanted =
      uint64_t{IBV_WC_STANDARD_FLAGS} | uint64_t{IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
  constexpr uint32_t kFlags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  if ((init->wc_flags & ~kWanted) != 0 ||
      (init->comp_mask & ~static_cast<uint32_t>(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)) != 0 ||
      ((init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 && (init->flags & ~kFlags) != 0))
    return null_with<ibv_cq_ex>(EOPNOTSUPP);
  ibv_cq* cq = create_cq(context, static_cast<int>(init->cqe), init->cq_context, init->channel,
                         static_cast<int>(init->comp_vector), init->wc_flags);
  return cq != nullptr ? Cq::of(cq)->verbs_ex() : nullptr;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init) {
  if ((init->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) return null_with<ibv_qp>(EINVAL);
  return create_qp(context, init);
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init) {
  if (init == nullptr || init->comp_mask != 0) return null_with<ibv_td>(EINVAL);
  auto* td = new (std::nothrow) ibv_td{context};
  if (td == nullptr) return null_with<ibv_td>(ENOMEM);
  Context::of(context)->count_child(1);
  return td;
}
int dealloc_td(ibv_td* td) {
  Context::of(td->context)->count_child(-1);
  delete td;
  return 0;
}
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init) {
  if (init == nullptr || init->pd == nullptr || init->pd->context != context) return null_with<ibv_pd>(EINVAL);
  if ((init->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0) return null_with<ibv_pd>(EOPNOTSUPP);
  return or_enomem<ibv_pd*>(nullptr, [&] { return Pd::create_parent(Context::of(context), init->pd); });
}
int modify_cq(ibv_cq*, ibv_modify_cq_attr*) {
  return error_with(EOPNOTSUPP);  // no moderation
}

}  // namespace

void fill_ops(verbs_context* verbs) {
  ibv_context_ops& ops = verbs->context.ops;
  ops.alloc_mw = no_alloc_mw;
  ops.bind_mw = no_bind_mw;
  ops.dealloc_mw = no_dealloc_mw;
  ops.poll_cq = poll_cq_op;
  ops.req_notify_cq = req_notify_cq;
  ops.post_srq_recv = post_srq_recv;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
  verbs->query_port = query_port_op;
  verbs->query_device_ex = query_device_ex;
  verbs->create_cq_ex = create_cq_ex;
  verbs->create_qp_ex = create_qp_ex;
  verbs->alloc_td = alloc_td;
  verbs->dealloc_td = dealloc_td;
  verbs->alloc_parent_domain = alloc_parent_domain;
  verbs->modify_cq = modify_cq;
}

}  // namespace mrc::shim
