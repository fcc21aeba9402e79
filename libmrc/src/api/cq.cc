#include "api/cq.h"

#include "api/channel.h"
#include "api/context.h"
#include "api/errors.h"
#include "api/limits.h"
#include "api/qp.h"

using mrc::api::errno_value;
using mrc::api::minus_one;
using mrc::api::null_with;

namespace {

// [API-CQ-1]
uint32_t ring_mask(int cqe) {
  uint32_t n = 1;
  while (n < static_cast<uint32_t>(cqe)) n *= 2;
  return n - 1;
}

}  // namespace

mrc_cq::mrc_cq(mrc_context* context, int cqe, void* cq_context, mrc_comp_channel* channel)
    : context_(context),
      cq_context_(cq_context),
      channel_(channel),
      mask_(ring_mask(cqe)),
      ring_(new Entry[mask_ + 1]) {
  context_->add_child();
  if (channel_ != nullptr) channel_->attach();
}

mrc_cq::~mrc_cq() {
  if (channel_ != nullptr) channel_->detach();
  context_->remove_child();
}

// [API-CQ-2] [API-CQ-3]
bool mrc_cq::push(const ibv_wc& wc, mrc_qp* owner, uint32_t slots, bool solicited) {
  const mrc::MutexLock lock(mutex_);
  if (tail_ - head_ > mask_) return false;
  ring_[tail_ & mask_] = {wc, owner, slots};
  ++tail_;
  count_.store(static_cast<uint32_t>(tail_ - head_), std::memory_order_release);
  const Arm armed = arm_.load(std::memory_order_relaxed);
  if (armed == Arm::kAny || (armed == Arm::kSolicited && (solicited || wc.status != IBV_WC_SUCCESS))) {
    arm_.store(Arm::kNot, std::memory_order_relaxed);
    context_->count_armed(-1);
    channel_->raise(this);
  }
  return true;
}

// [MRC-EVT-3]
void mrc_cq::notify() {
  const mrc::MutexLock lock(mutex_);
  if (arm_.load(std::memory_order_relaxed) == Arm::kNot) return;
  arm_.store(Arm::kNot, std::memory_order_relaxed);
  context_->count_armed(-1);
  channel_->raise(this);
}

int mrc_cq::take(int max, ibv_wc* out) {
  if (empty()) return 0;
  const mrc::MutexLock lock(mutex_);
  int n = 0;
  while (n < max && head_ != tail_) {
    Entry& e = ring_[head_ & mask_];
    out[n++] = e.wc;
    if (e.slots > 0) e.owner->release_send_slots(e.slots);
    ++head_;
  }
  count_.store(static_cast<uint32_t>(tail_ - head_), std::memory_order_release);
  return n;
}

int mrc_cq::resize(int cqe) {
  const uint32_t mask = ring_mask(cqe);
  std::unique_ptr<Entry[]> ring(new Entry[mask + 1]);
  const mrc::MutexLock lock(mutex_);
  if (tail_ - head_ > mask + 1) return EINVAL;
  for (uint64_t i = head_; i != tail_; ++i) ring[i & mask] = ring_[i & mask_];
  ring_ = std::move(ring);
  mask_ = mask;
  return 0;
}

// [API-CQ-5]
void mrc_cq::purge(const mrc_qp* owner) {
  const mrc::MutexLock lock(mutex_);
  uint64_t kept = head_;
  for (uint64_t i = head_; i != tail_; ++i)
    if (ring_[i & mask_].owner != owner) ring_[kept++ & mask_] = ring_[i & mask_];
  tail_ = kept;
  count_.store(static_cast<uint32_t>(tail_ - head_), std::memory_order_release);
}

// [API-CQ-3]
void mrc_cq::arm(bool solicited_only) {
  const mrc::MutexLock lock(mutex_);
  const Arm before = arm_.load(std::memory_order_relaxed);
  // A request for any completion is not weakened by a later one for solicited completions.
  if (before != Arm::kAny) arm_.store(solicited_only ? Arm::kSolicited : Arm::kAny, std::memory_order_relaxed);
  if (before == Arm::kNot) context_->count_armed(1);
}

extern "C" {

mrc_cq* mrc_create_cq(mrc_context* mrc_ctx, int cqe, void* cq_context, mrc_comp_channel* channel, int comp_vector) {
  if (mrc_ctx == nullptr || cqe < 1 || cqe > mrc::api::kMaxCqe || comp_vector < 0 ||
      comp_vector >= mrc::api::kCompVectors || (channel != nullptr && channel->context() != mrc_ctx))
    return null_with(EINVAL);
  return mrc::api::or_enomem<mrc_cq*>(nullptr, [&] { return new mrc_cq(mrc_ctx, cqe, cq_context, channel); });
}

int mrc_soft_resize_cq(mrc_cq* cq, int cqe) {
  if (cq == nullptr || cqe < 1 || cqe > mrc::api::kMaxCqe || cq->ev_events != nullptr) return errno_value(EINVAL);
  return mrc::api::or_enomem<int>(ENOMEM, [&] {
    const int error = cq->resize(cqe);
    return error == 0 ? 0 : errno_value(error);
  });
}

int mrc_poll_cq(mrc_cq* cq, int num_entries, ibv_wc* wc) {
  if (cq == nullptr || num_entries < 0 || (num_entries > 0 && wc == nullptr) || cq->ev_events != nullptr)
    return minus_one(EINVAL);
  const int n = cq->take(num_entries, wc);
  if (n > 0 || num_entries == 0) return n;
  cq->context()->progress();
  return cq->take(num_entries, wc);
}

int mrc_req_notify_cq(mrc_cq* cq, int solicited_only) {
  if (cq == nullptr || cq->channel() == nullptr) return errno_value(EINVAL);
  cq->arm(solicited_only != 0);
  return 0;
}

int mrc_destroy_cq(mrc_cq* cq) {
  if (cq == nullptr) return errno_value(EINVAL);
  if (cq->users.load() > 0) return errno_value(EBUSY);
  if (cq->ev_events != nullptr) cq->context()->soft().remove_ev_cq(cq);
  if (cq->armed()) cq->context()->count_armed(-1);
  cq->context()->forget_events(cq);
  if (cq->channel() != nullptr) cq->channel()->forget(cq);
  delete cq;
  return 0;
}

}  // extern "C"
