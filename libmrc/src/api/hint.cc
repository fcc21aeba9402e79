#include "api/hint.h"

#include <cstring>

#include "api/errors.h"
#include "api/limits.h"

using mrc::api::minus_one;
using mrc::api::null_with;

namespace {

constexpr int kKnownMask = MRC_QP_HINT_NUM_QPS_PER_PEER | MRC_QP_HINT_NUM_SEND_PEERS |
                           MRC_QP_HINT_NUM_REMOTE_RECV_PEERS | MRC_QP_HINT_VENDOR_CFG;

std::atomic<uint32_t> live_hints{0};

bool numbers_valid(const mrc_qp_hint_attr& attr, int mask) {
  return !((mask & MRC_QP_HINT_NUM_QPS_PER_PEER) != 0 && attr.num_qps_per_peer < 0) &&
         !((mask & MRC_QP_HINT_NUM_SEND_PEERS) != 0 && attr.num_send_peers < 0) &&
         !((mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS) != 0 && attr.num_remote_recv_peers < 0);
}

void copy(mrc_qp_hint_attr* to, const mrc_qp_hint_attr& from, int mask) {
  if (mask & MRC_QP_HINT_NUM_QPS_PER_PEER) to->num_qps_per_peer = from.num_qps_per_peer;
  if (mask & MRC_QP_HINT_NUM_SEND_PEERS) to->num_send_peers = from.num_send_peers;
  if (mask & MRC_QP_HINT_NUM_REMOTE_RECV_PEERS) to->num_remote_recv_peers = from.num_remote_recv_peers;
  if (mask & MRC_QP_HINT_VENDOR_CFG) std::memcpy(to->vendor_cfg, from.vendor_cfg, sizeof to->vendor_cfg);
}

}  // namespace

extern "C" {

mrc_qp_hint* mrc_create_qp_hint(mrc_context* mrc_ctx, mrc_qp_hint_init_attr* init_attr) {
  if (mrc_ctx == nullptr || init_attr == nullptr || !numbers_valid(init_attr->attr, kKnownMask))
    return null_with(EINVAL);
  if (live_hints.fetch_add(1) >= mrc::api::kMaxQpHints) {
    --live_hints;
    return null_with(ENOMEM);
  }
  auto* hint = new (std::nothrow) mrc_qp_hint(mrc_ctx, init_attr->attr);
  if (hint == nullptr) {
    --live_hints;
    return null_with(ENOMEM);
  }
  return hint;
}

// [API-CTX-2]
int mrc_destroy_qp_hint(mrc_qp_hint* qp_hint) {
  if (qp_hint == nullptr) return minus_one(EINVAL);
  if (qp_hint->users.load() > 0) return minus_one(EBUSY);
  delete qp_hint;
  --live_hints;
  return 0;
}

int mrc_query_qp_hint(mrc_qp_hint* qp_hint, mrc_qp_hint_attr* qp_hint_attr, int qp_hint_attr_mask) {
  if (qp_hint == nullptr || qp_hint_attr == nullptr || (qp_hint_attr_mask & ~kKnownMask) != 0) return minus_one(EINVAL);
  const mrc::MutexLock lock(qp_hint->mutex);
  copy(qp_hint_attr, qp_hint->attr, qp_hint_attr_mask);
  return 0;
}

int mrc_modify_qp_hint(mrc_qp_hint* qp_hint, mrc_qp_hint_attr* qp_hint_attr, int qp_hint_attr_mask) {
  if (qp_hint == nullptr || qp_hint_attr == nullptr || (qp_hint_attr_mask & ~kKnownMask) != 0 ||
      !numbers_valid(*qp_hint_attr, qp_hint_attr_mask))
    return minus_one(EINVAL);
  const mrc::MutexLock lock(qp_hint->mutex);
  copy(&qp_hint->attr, *qp_hint_attr, qp_hint_attr_mask);
  return 0;
}

}  // extern "C"
