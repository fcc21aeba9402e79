#include "objects/mrc_queue_pair.h"

#include <algorithm>
#include <cerrno>

namespace mrc::shim {

bool MrcQp::create(mrc_context* context, mrc_qp_init_attr* init) {
  qp_ = api_->mrc_create_qp(context, init);
  if (qp_ == nullptr) return false;
  api_->mrc_get_qpn(qp_, &number_);
  mrc_qp_attr made{};
  if (api_->mrc_query_qp(qp_, nullptr, 0, &made, MRC_QP_TIMEOUT, nullptr) != 0) return false;
  packet_timeout_ = made.timeout;
  return true;
}

bool MrcQp::set_mailbox(uint8_t* memory, uint32_t bytes, uint64_t wr_id) {
  return api_->mrc_soft_set_mailbox(qp_, memory, bytes, wr_id) == 0;
}

void MrcQp::destroy() {
  if (qp_ != nullptr) api_->mrc_destroy_qp(qp_);
  qp_ = nullptr;
}

int MrcQp::modify(const ibv_qp_attr& attr, int mask, mrc_qp_attr* own, int own_mask) {
  ibv_qp_attr copy = attr;
  return api_->mrc_modify_qp(qp_, &copy, mask, own, own_mask);
}

void MrcQp::start_sending(uint32_t psn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = psn;
  if (modify(attr, IBV_QP_STATE | IBV_QP_SQ_PSN, nullptr, 0) == 0) state_ = State::kSends;
}

void MrcQp::enter_error_state() {
  state_ = State::kError;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  modify(attr, IBV_QP_STATE, nullptr, 0);
}

uint32_t MrcQp::post_receives(uint32_t count, uint64_t wr_id) {
  if (!operational()) return 0;
  constexpr uint32_t kBatch = 32;
  ibv_recv_wr wrs[kBatch];
  while (count > 0) {
    const uint32_t n = std::min(count, kBatch);
    for (uint32_t i = 0; i < n; ++i) {
      wrs[i] = ibv_recv_wr{};
      wrs[i].wr_id = wr_id;
      wrs[i].next = i + 1 < n ? &wrs[i + 1] : nullptr;
    }
    ibv_recv_wr* bad;
    if (api_->mrc_post_recv(qp_, wrs, &bad) != 0)  // any error but ENOMEM means that the queue pair has failed
      return errno == ENOMEM ? count - static_cast<uint32_t>(bad - wrs) : 0;
    count -= n;
  }
  return 0;
}

}  // namespace mrc::shim
