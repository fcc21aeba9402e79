// States and attributes: the rules of verbs for RC, then MRC's queue pair, then the halves of the protocol. [VRB-QP-1]
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "objects/queue_pair.h"
#include "objects/retry_time.h"
#include "progress/settle.h"

namespace mrc::shim {

namespace {

constexpr int kInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kRtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kRtrRc = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kRts = IBV_QP_SQ_PSN;
constexpr int kRtsRc = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int kTransport = kInit | kRtr | kRtrRc | kRts | kRtsRc | IBV_QP_STATE;

bool transition_exists(ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return true;
  switch (from) {
    case IBV_QPS_RESET:
      return to == IBV_QPS_INIT;
    case IBV_QPS_INIT:
      return to == IBV_QPS_INIT || to == IBV_QPS_RTR;
    case IBV_QPS_RTR:
    case IBV_QPS_RTS:
      return to == IBV_QPS_RTS;
    default:
      return false;
  }
}

}  // namespace

int Qp::validate(const ibv_qp_attr& attr, int mask, ibv_qp_state to) const {
  if ((mask & IBV_QP_CUR_STATE) != 0 && attr.cur_qp_state != state_) return EINVAL;
  if (!transition_exists(state_, to)) return EINVAL;
  const bool rc = init_.qp_type == IBV_QPT_RC;
  int needed = 0;
  if (state_ == IBV_QPS_RESET && to == IBV_QPS_INIT) needed = kInit;
  if (state_ == IBV_QPS_INIT && to == IBV_QPS_RTR) needed = kRtr | (rc ? kRtrRc : 0);
  if (state_ == IBV_QPS_RTR && to == IBV_QPS_RTS) needed = kRts | (rc ? kRtsRc : 0);
  if ((mask & needed) != needed) return EINVAL;
  if ((mask & IBV_QP_PORT) != 0 && attr.port_num != 1) return EINVAL;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && attr.max_rd_atomic > kMaxReads) return EINVAL;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && attr.max_dest_rd_atomic > kMaxReads) return EINVAL;
  return 0;
}

int Qp::modify_mrc(const ibv_qp_attr& attr, int mask) {
  int kept = mask & kTransport;
  if (state_ == IBV_QPS_RESET && (mask & IBV_QP_STATE) == 0) return EINVAL;
  if (mrc_.sends() && (mask & IBV_QP_STATE) != 0 && attr.qp_state == IBV_QPS_RTS)
    kept &= ~(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_CUR_STATE);
  // [VRB-QP-4]
  mrc_qp_attr extra{};
  int extra_mask = 0;
  if ((mask & (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT)) != 0) {
    const MrcRetries retries =
        retries_for((mask & IBV_QP_TIMEOUT) != 0 ? attr.timeout : attr_.timeout,
                    (mask & IBV_QP_RETRY_CNT) != 0 ? attr.retry_cnt : attr_.retry_cnt, mrc_.packet_timeout());
    extra.timeout = retries.timeout;
    extra.retry.linear_cnt = retries.linear;
    extra.retry.exp_cnt = retries.exponential;
    extra_mask = MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT;
  }
  return mrc_.modify(attr, kept, &extra, extra_mask);
}

void Qp::store_attributes(const ibv_qp_attr& in, int mask) {
  if ((mask & IBV_QP_PKEY_INDEX) != 0) attr_.pkey_index = in.pkey_index;
  if ((mask & IBV_QP_PORT) != 0) attr_.port_num = in.port_num;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) attr_.qp_access_flags = in.qp_access_flags;
  if ((mask & IBV_QP_AV) != 0) attr_.ah_attr = in.ah_attr;
  if ((mask & IBV_QP_PATH_MTU) != 0) attr_.path_mtu = in.path_mtu;
  if ((mask & IBV_QP_DEST_QPN) != 0) attr_.dest_qp_num = in.dest_qp_num;
  if ((mask & IBV_QP_RQ_PSN) != 0) attr_.rq_psn = in.rq_psn;
  if ((mask & IBV_QP_SQ_PSN) != 0) attr_.sq_psn = in.sq_psn;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) attr_.max_dest_rd_atomic = in.max_dest_rd_atomic;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) attr_.max_rd_atomic = in.max_rd_atomic;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) attr_.min_rnr_timer = in.min_rnr_timer;
  if ((mask & IBV_QP_TIMEOUT) != 0) attr_.timeout = in.timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) attr_.retry_cnt = in.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) attr_.rnr_retry = in.rnr_retry;
  responder_->set_attributes({attr_.qp_access_flags, attr_.min_rnr_timer, attr_.dest_qp_num});
  requester_->set_limits(std::max<uint32_t>(attr_.max_rd_atomic, 1), std::min<uint8_t>(attr_.rnr_retry, 7),
                         attr_.rq_psn);
}

int Qp::modify(const ibv_qp_attr& attr, int mask) {
  // rdma_disconnect() begins with this: what the peer sent and this side has taken is confirmed first. [VRB-END-1]
  const bool to_error = (mask & IBV_QP_STATE) != 0 && attr.qp_state == IBV_QPS_ERR;
  if (to_error) settle_one_of_many(context_, [this] { return confirmed(); });
  const int error = change(attr, mask);
  if (error == 0 && to_error) finish_error_state();
  return error;
}

int Qp::change(const ibv_qp_attr& attr, int mask) {
  const MutexLock pump(context_->pump_mutex());  // RESET takes completions out from under it
  const MutexLock lock(mutex_);
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr.qp_state : state_;
  if (const int error = validate(attr, mask, to)) return error;
  if (to == IBV_QPS_ERR) {
    if (state_ != IBV_QPS_ERR && mrc_.sends()) responder_->abandon();
    enter_error_state();
    check();
    return 0;
  }
  if (const int error = modify_mrc(attr, mask)) return error;
  if (to != IBV_QPS_RESET) store_attributes(attr, mask);
  enter(to);
  check();
  return 0;
}

void Qp::enter(ibv_qp_state to) {
  const ibv_qp_state from = state_;
  set_state(to);
  if (to == IBV_QPS_RESET) {
    reset();
  } else if (to == IBV_QPS_INIT && from == IBV_QPS_RESET) {
    mrc_.init_done();
    post_mrc_receives(mrc_receives_);
  } else if (to == IBV_QPS_RTR) {
    context_->start_progress();
  } else if (to == IBV_QPS_RTS) {
    mrc_.rts_done();
    requester_->advance();
  }
}

void Qp::reset() {
  attr_ = ibv_qp_attr{};
  requester_->reset();
  responder_->reset();
  outbox_->reset();
  answered_.reset();
  send_cq_->purge(this);
  recv_cq_->purge(this);
  for (Receive gone; receives_ != nullptr && receives_->pop(&gone);) {
  }
  if (srq_ != nullptr) srq_->forget(this);
  mrc_.reset_done();
  mrc_error_pending_ = awaits_event_ = false;
}

// Everything is flushed. MRC's queue pair follows once the refusal has reached the peer.
void Qp::enter_error_state() {
  if (state_ == IBV_QPS_ERR) return;
  set_state(IBV_QPS_ERR);
  requester_->flush();
  responder_->flush();
  flush_receives();
  if (srq_ != nullptr) {
    srq_->forget(this);
    raise(IBV_EVENT_QP_LAST_WQE_REACHED);
  }
  if (outbox_->own_in_flight() > 0) {
    mrc_error_pending_ = true;
  } else {
    fail_mrc();
  }
}

// The application may use its memory for other things when ibv_modify_qp returns: neither READs of the peer nor its
// WRITEs go on. What is on its way has half a second. [VRB-END-1]
void Qp::finish_error_state() {
  const auto stopped = [this] {
    const MutexLock lock(mutex_);
    return !mrc_error_pending_;
  };
  settle_one_of_many(context_, stopped);
  const MutexLock lock(mutex_);
  if (mrc_error_pending_) fail_mrc();
  check();
}

void Qp::flush_receives() {
  for (Receive r; receives_ != nullptr && receives_->pop(&r);) {
    ibv_wc wc{};
    wc.wr_id = r.wr_id;
    wc.status = IBV_WC_WR_FLUSH_ERR;
    wc.opcode = IBV_WC_RECV;
    wc.qp_num = verbs()->qp_num;
    complete_receive(wc, true);
  }
}

void Qp::fail_mrc() {
  mrc_error_pending_ = false;
  if (!mrc_.operational()) return;
  mrc_.enter_error_state();
  outbox_->drop();
}

}  // namespace mrc::shim
