#include "objects/receive_queue.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mrc::shim {

ReceiveQueue::ReceiveQueue(uint32_t max_wr, uint32_t max_sge)
    : max_wr_(std::max(max_wr, 1u)),
      max_sge_(std::max(max_sge, 1u)),
      ring_(new Entry[max_wr_]),
      sges_(new ibv_sge[static_cast<size_t>(max_wr_) * max_sge_]) {}

int ReceiveQueue::push(const ibv_recv_wr& wr) {
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > max_sge_ || (wr.num_sge > 0 && wr.sg_list == nullptr))
    return EINVAL;
  const MutexLock lock(mutex_);
  if (tail_ - head_ == max_wr_) return ENOMEM;
  const uint64_t slot = tail_++ % max_wr_;
  ring_[slot] = {wr.wr_id, wr.num_sge};
  std::copy_n(wr.sg_list, wr.num_sge, &sges_[slot * max_sge_]);
  return 0;
}

bool ReceiveQueue::pop(Receive* out) {
  const MutexLock lock(mutex_);
  if (head_ == tail_) return false;
  const uint64_t slot = head_++ % max_wr_;
  out->wr_id = ring_[slot].wr_id;
  out->num_sge = ring_[slot].num_sge;
  std::copy_n(&sges_[slot * max_sge_], out->num_sge, out->sges);
  return true;
}

uint32_t ReceiveQueue::size() {
  const MutexLock lock(mutex_);
  return static_cast<uint32_t>(tail_ - head_);
}

Srq::Srq(Context* context, ibv_pd* pd, void* srq_context, const ibv_srq_attr& attr)
    : context_(context), queue_(attr.max_wr, attr.max_sge), limit_(attr.srq_limit) {
  std::memset(static_cast<void*>(&handle_), 0, sizeof handle_);
  handle_.self = this;
  handle_.base.context = context->verbs();
  handle_.base.srq_context = srq_context;
  handle_.base.pd = pd;
  pthread_mutex_init(&handle_.base.mutex, nullptr);
  pthread_cond_init(&handle_.base.cond, nullptr);
  context_->count_child(1);
}

Srq::~Srq() {
  context_->count_child(-1);
  pthread_mutex_destroy(&handle_.base.mutex);
  pthread_cond_destroy(&handle_.base.cond);
}

int Srq::post(ibv_recv_wr* wr, ibv_recv_wr** bad) {
  int error = 0;
  for (; wr != nullptr && error == 0; wr = error == 0 ? wr->next : wr) error = queue_.push(*wr);
  if (error != 0 && bad != nullptr) *bad = wr;
  std::vector<Qp*> go_on;
  {
    const MutexLock lock(mutex_);
    if (waiting_.empty()) return error;
  }
  const MutexLock pump(context_->pump_mutex());  // queue pairs stay while it is held
  {
    const MutexLock lock(mutex_);
    go_on.swap(waiting_);
  }
  context_->resume(&go_on);
  return error;
}

bool Srq::take(Receive* out, Qp* who) {
  const MutexLock lock(mutex_);
  if (!queue_.pop(out)) {
    if (std::find(waiting_.begin(), waiting_.end(), who) == waiting_.end()) waiting_.push_back(who);
    return false;
  }
  if (limit_ > 0 && queue_.size() < limit_) {
    limit_ = 0;  // one event for each time it is set
    ibv_async_event event{};
    event.element.srq = verbs();
    event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
    context_->raise(event);
  }
  return true;
}

void Srq::forget(Qp* who) {
  const MutexLock lock(mutex_);
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), who), waiting_.end());
}

int Srq::modify(const ibv_srq_attr& attr, int mask) {
  if ((mask & ~IBV_SRQ_LIMIT) != 0) return (mask & IBV_SRQ_MAX_WR) != 0 ? EOPNOTSUPP : EINVAL;
  if ((mask & IBV_SRQ_LIMIT) == 0) return 0;
  if (attr.srq_limit > queue_.max_wr()) return EINVAL;
  const MutexLock lock(mutex_);
  limit_ = attr.srq_limit;
  return 0;
}

ibv_srq_attr Srq::query() {
  const MutexLock lock(mutex_);
  return {queue_.max_wr(), queue_.max_sge(), limit_};
}

}  // namespace mrc::shim
