// Posting to datagram queue pairs, as post.cc does to others. [API-UD-3] [API-UD-4]
#include <cerrno>
#include <new>

#include "api/address_handle.h"
#include "api/context.h"
#include "api/datagram_qp.h"
#include "api/errors.h"
#include "api/inherited.h"
#include "api/limits.h"
#include "api/post_result.h"
#include "api/posted_sges.h"

namespace {

using mrc::api::AddressHandle;
using mrc::api::errno_value;

constexpr unsigned kDatagramFlags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;

// 0, or an errno value. `sges` has room for kMaxSge.
int translate(const ibv_send_wr& in, const mrc_soft_ud_qp& qp, mrc::core::Sge* sges, mrc::core::DatagramWr* out)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) {
  const int opcode = mrc::api::raw(in.opcode);
  if (opcode != IBV_WR_SEND && opcode != IBV_WR_SEND_WITH_IMM) return EINVAL;
  if ((in.send_flags & ~kDatagramFlags) != 0) return EINVAL;
  if (in.num_sge < 0 || static_cast<uint32_t>(in.num_sge) > qp.init().cap.max_send_sge ||
      (in.num_sge > 0 && in.sg_list == nullptr))
    return EINVAL;
  if (in.wr.ud.ah == nullptr || in.wr.ud.ah->context != qp.init().pd->context || in.wr.ud.remote_qpn > 0xFFFFFF)
    return EINVAL;
  AddressHandle* const to = AddressHandle::of(in.wr.ud.ah);
  if (to->is_group() && mrc::Qpn(in.wr.ud.remote_qpn) != mrc::core::kMulticastQpn) return EINVAL;
  const mrc::Result<mrc::core::PeerId> peer = to->peer_of(mrc::Qpn(in.wr.ud.remote_qpn));
  if (!peer) return peer.error().code;
  for (int i = 0; i < in.num_sge; ++i)
    sges[i] = {in.sg_list[i].addr, in.sg_list[i].length, mrc::Key(in.sg_list[i].lkey)};
  out->wr_id = in.wr_id;
  out->signaled = (in.send_flags & IBV_SEND_SIGNALED) != 0 || qp.init().sq_sig_all != 0;
  out->solicited = (in.send_flags & IBV_SEND_SOLICITED) != 0;
  out->inline_data = (in.send_flags & IBV_SEND_INLINE) != 0;
  out->with_imm = opcode == IBV_WR_SEND_WITH_IMM;
  if (out->with_imm) out->imm = in.imm_data;
  out->sges = sges;
  out->num_sge = static_cast<uint32_t>(in.num_sge);
  out->peer = *peer;
  out->dest_qpn = mrc::Qpn(in.wr.ud.remote_qpn);
  out->qkey = in.wr.ud.remote_qkey;
  out->traffic_class = to->traffic_class();
  return 0;
}

// 0, or an errno value.
int to_sges(const ibv_recv_wr& wr, uint32_t max_sge, mrc::core::Sge* sges) {
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > max_sge || (wr.num_sge > 0 && wr.sg_list == nullptr))
    return EINVAL;
  for (int i = 0; i < wr.num_sge; ++i)
    sges[i] = {wr.sg_list[i].addr, wr.sg_list[i].length, mrc::Key(wr.sg_list[i].lkey)};
  return 0;
}

// One request each; 0, or an errno value. [API-ERR-3]
int post_one(const ibv_send_wr& wr, mrc_soft_ud_qp* qp) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) {
  mrc::api::PostedSges sges;
  mrc::core::DatagramWr request;
  bool taken = false;
  int error = ENOMEM;
  try {
    error = translate(wr, *qp, sges.data(), &request);
    if (error != 0) return error;
    taken = qp->slots().take(qp->init().cap.max_send_wr);
    if (!taken) return ENOMEM;
    error = mrc::api::to_errno(qp->device().endpoint().post_datagram(qp->engine(), request));
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  if (error != 0 && taken) qp->slots().release(1);
  return error;
}
int post_one(const ibv_recv_wr& wr, mrc_soft_ud_qp* qp) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) {
  mrc::api::PostedSges sges;
  if (const int error = to_sges(wr, qp->init().cap.max_recv_sge, sges.data())) return error;
  try {
    return mrc::api::to_errno(qp->device().endpoint().post_datagram_recv(qp->engine(), wr.wr_id, sges.data(),
                                                                         static_cast<uint32_t>(wr.num_sge)));
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}
int post_one(const ibv_recv_wr& wr, mrc_soft_ud_srq* srq) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) {
  mrc::api::PostedSges sges;
  if (const int error = to_sges(wr, srq->max_sge, sges.data())) return error;
  try {
    return mrc::api::to_errno(srq->queue.post(wr.wr_id, sges.data(), static_cast<uint32_t>(wr.num_sge)));
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

// Posts until one is refused.
template <typename Wr, typename Queue>
int post_list(Queue* queue, Wr* wr, Wr** bad_wr) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) {
  for (; wr != nullptr; wr = wr->next) {
    const int error = post_one(*wr, queue);
    if (error == 0) continue;
    if (bad_wr != nullptr) *bad_wr = wr;
    return error;
  }
  return 0;
}

int with_errno(int error) {
  return error == 0 ? 0 : errno_value(error);
}

}  // namespace

extern "C" {

int mrc_soft_post_ud_send(mrc_soft_ud_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  if (qp == nullptr) return errno_value(EINVAL);
  mrc::device::Device& device = qp->device();
  if (device.inherited()) return mrc::api::refuse_in_child(wr, bad_wr);
  const mrc::device::DeviceLock lock(device.mutex());
  const int error = post_list(qp, wr, bad_wr);
  device.transmit_locked();
  return with_errno(error);
}

int mrc_soft_post_ud_recv(mrc_soft_ud_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  if (qp == nullptr) return errno_value(EINVAL);
  if (qp->device().inherited()) return mrc::api::refuse_in_child(wr, bad_wr);
  if (qp->init().srq != nullptr) {
    if (bad_wr != nullptr) *bad_wr = wr;
    return errno_value(EINVAL);
  }
  const mrc::device::DeviceLock lock(qp->device().mutex());
  return with_errno(post_list(qp, wr, bad_wr));
}

int mrc_soft_post_ud_srq_recv(mrc_soft_ud_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  if (srq == nullptr) return errno_value(EINVAL);
  if (mrc::api::inherited(*srq->soft)) return mrc::api::refuse_in_child(wr, bad_wr);
  const mrc::device::DeviceLock lock(srq->soft->device().mutex());
  return with_errno(post_list(srq, wr, bad_wr));
}

}  // extern "C"
