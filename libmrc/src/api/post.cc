// Posting work requests. The device's lock is held for the whole list, and the packets are sent before the call
// returns: progress is inline, no other thread is needed for a program that keeps calling. [API-POST-*]
#include <cerrno>

#include "api/context.h"
#include "api/errors.h"
#include "api/inherited.h"
#include "api/limits.h"
#include "api/post_result.h"
#include "api/posted_sges.h"
#include "api/qp.h"

namespace {

using mrc::api::errno_value;
using mrc::api::to_errno;

constexpr unsigned kKnownFlags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

// 0, or an errno value. `sges` has room for kMaxSge. [API-POST-1] [API-POST-4]
int translate(const ibv_send_wr& in, const mrc_qp& qp, mrc::core::Sge* sges, mrc::core::SendWr* out) {
  switch (mrc::api::raw(in.opcode)) {
    case IBV_WR_RDMA_WRITE:
      if ((qp.send_ops() & IBV_QP_EX_WITH_RDMA_WRITE) == 0) return EINVAL;
      out->op = mrc::core::SendOp::kWrite;
      break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      if ((qp.send_ops() & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) == 0) return EINVAL;
      out->op = mrc::core::SendOp::kWriteImm;
      out->imm = in.imm_data;  // bit for bit, regardless of the caller's byte order (spec/clients.md rule 10)
      break;
    default:
      return EINVAL;
  }
  if ((in.send_flags & ~kKnownFlags) != 0) return EINVAL;
  if (in.num_sge < 0 || static_cast<uint32_t>(in.num_sge) > qp.cap().max_send_sge ||
      (in.num_sge > 0 && in.sg_list == nullptr))
    return EINVAL;
  for (int i = 0; i < in.num_sge; ++i)
    sges[i] = {in.sg_list[i].addr, in.sg_list[i].length, mrc::Key(in.sg_list[i].lkey)};
  out->wr_id = in.wr_id;
  out->signaled = (in.send_flags & IBV_SEND_SIGNALED) != 0 || qp.signal_all();
  out->inline_data = (in.send_flags & IBV_SEND_INLINE) != 0;
  out->fence = (in.send_flags & IBV_SEND_FENCE) != 0;
  out->sges = sges;
  out->num_sge = static_cast<uint32_t>(in.num_sge);
  out->remote_addr = in.wr.rdma.remote_addr;
  out->rkey = mrc::Key(in.wr.rdma.rkey);
  return 0;
}

// One request each; 0, or an errno value. Always inline: a call would pass the request through memory.
[[gnu::always_inline]] inline int post_one(const ibv_send_wr& wr, mrc::Instant now, mrc_qp* qp)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) {
  mrc::api::PostedSges sges;
  mrc::core::SendWr send;
  if (const int error = translate(wr, *qp, sges.data(), &send)) return error;
  if (!qp->slots().take(qp->cap().max_send_wr)) return ENOMEM;
  mrc::core::Endpoint& endpoint = qp->device().endpoint();
  const int error =
      mrc::api::or_enomem_on_data_path(ENOMEM, [&] { return to_errno(endpoint.post_send(now, qp->engine(), send)); });
  if (error != 0) qp->slots().release(1);
  return error;
}
int post_one(const ibv_recv_wr& wr, mrc::Instant now, mrc_qp* qp)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) {
  // SGEs are not used for a write with immediate, but one that is there must be one the QP was made for.
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > qp->cap().max_recv_sge) return EINVAL;
  mrc::core::Endpoint& endpoint = qp->device().endpoint();
  return mrc::api::or_enomem_on_data_path(ENOMEM,
                                          [&] { return to_errno(endpoint.post_recv(now, qp->engine(), wr.wr_id)); });
}

// Posts until one is refused.
template <typename Wr>
int post_chain(mrc_qp* qp, Wr* wr, Wr** bad_wr) {
  if (qp == nullptr) return errno_value(EINVAL);
  mrc::device::Device& device = qp->device();
  if (device.inherited()) return mrc::api::refuse_in_child(wr, bad_wr);
  int error = 0;
  {
    const mrc::device::DeviceLock lock(device.mutex());
    const mrc::Instant now = device.now();
    for (; wr != nullptr; wr = wr->next) {
      error = post_one(*wr, now, qp);
      if (error != 0) break;
    }
    // Also after receive requests: a write that waited for one of them is acknowledged now.
    device.transmit_locked();
  }
  if (error == 0) return 0;
  if (bad_wr != nullptr) *bad_wr = wr;
  return errno_value(error);
}

}  // namespace

extern "C" {

// [API-POST-1] [API-POST-2]
int mrc_post_send(mrc_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  return post_chain(qp, wr, bad_wr);
}

int mrc_post_recv(mrc_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  return post_chain(qp, wr, bad_wr);
}

}  // extern "C"
