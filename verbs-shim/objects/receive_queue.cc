#include "objects/receive_queue.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "invariant.h"
#include "objects/verbs_ops.h"

namespace mrc::shim {

ReceiveQueue::ReceiveQueue(uint32_t max_wr, uint32_t max_sge)
    : max_sge_(std::max(max_sge, 1u)),
      max_wr_(std::max(max_wr, 1u)),
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
  check();
  return 0;
}

bool ReceiveQueue::pop(Receive* out) {
  const MutexLock lock(mutex_);
  if (head_ == tail_) return false;
  const uint64_t slot = head_++ % max_wr_;
  out->wr_id = ring_[slot].wr_id;
  out->num_sge = ring_[slot].num_sge;
  std::copy_n(&sges_[slot * max_sge_], out->num_sge, out->sges);
  check();
  return true;
}

uint32_t ReceiveQueue::size() {
  const MutexLock lock(mutex_);
  return static_cast<uint32_t>(tail_ - head_);
}

uint32_t ReceiveQueue::max_wr() {
  const MutexLock lock(mutex_);
  return max_wr_;
}

int ReceiveQueue::resize(uint32_t max_wr) {
  std::unique_ptr<Entry[]> ring(new Entry[max_wr]);
  std::unique_ptr<ibv_sge[]> sges(new ibv_sge[static_cast<size_t>(max_wr) * max_sge_]);
  const MutexLock lock(mutex_);
  const uint64_t count = tail_ - head_;
  if (count > max_wr) return EINVAL;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t slot = (head_ + i) % max_wr_;
    ring[i] = ring_[slot];
    std::copy_n(&sges_[slot * max_sge_], ring[i].num_sge, &sges[i * max_sge_]);
  }
  ring_ = std::move(ring);
  sges_ = std::move(sges);
  max_wr_ = max_wr;
  head_ = 0;
  tail_ = count;
  check();
  return 0;
}

void ReceiveQueue::check() const {
  MRC_INVARIANT(max_wr_ > 0 && head_ <= tail_ && tail_ - head_ <= max_wr_);
  MRC_INVARIANT(head_ == tail_ || ring_[head_ % max_wr_].num_sge <= static_cast<int>(max_sge_));
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
  if (datagrams_ != nullptr) {
    context_->api().mrc_soft_destroy_ud_srq(datagrams_);
    const MutexLock pump(context_->pump_mutex());
    context_->unreserve(kMaxSrqWr);
  }
  context_->count_child(-1);
  pthread_mutex_destroy(&handle_.base.mutex);
  pthread_cond_destroy(&handle_.base.cond);
}

int Srq::claim(bool datagrams) {
  const MutexLock pump(context_->pump_mutex());
  const MutexLock lock(mutex_);
  if (datagrams ? connections_ : datagrams_ != nullptr) return EOPNOTSUPP;
  connections_ = !datagrams;
  const int error = datagrams ? serve_datagrams() : 0;
  check();
  return error;
}

mrc_soft_ud_srq* Srq::datagrams() {
  const MutexLock lock(mutex_);
  return datagrams_;
}

// The requests that were posted before the first queue pair existed move to libmrc. Its queue grows as it is used; the
// limit, which can be changed, is kept here.
int Srq::serve_datagrams() {
  if (datagrams_ == nullptr) {
    if (const int error = context_->reserve(kMaxSrqWr)) return error;
    datagrams_ = context_->api().mrc_soft_create_ud_srq(handle_.base.pd, kMaxSrqWr, queue_.max_sge());
  }
  if (datagrams_ == nullptr) {
    context_->unreserve(kMaxSrqWr);
    return errno;
  }
  Receive request;
  while (queue_.pop(&request)) {
    ibv_recv_wr wr{};
    wr.wr_id = request.wr_id;
    wr.sg_list = request.sges;
    wr.num_sge = request.num_sge;
    const int error = post_datagram(wr);
    if (error == 0) continue;
    (void)queue_.push(wr);  // for the next attempt; there is room
    return error;
  }
  return 0;
}

int Srq::post_datagram(const ibv_recv_wr& wr) {
  if (posted_datagrams_ >= queue_.max_wr()) return ENOMEM;
  ibv_recv_wr copy = wr;
  copy.next = nullptr;
  ibv_recv_wr* bad;
  const int error = context_->api().mrc_soft_post_ud_srq_recv(datagrams_, &copy, &bad);
  if (error == 0) ++posted_datagrams_;
  return error;
}

void Srq::on_datagram() {
  const MutexLock lock(mutex_);
  compare_limit(--posted_datagrams_);
  check();
}

int Srq::post(ibv_recv_wr* wr, ibv_recv_wr** bad) {
  int error = 0;
  std::vector<BaseQp*> resumed;
  {
    const MutexLock lock(mutex_);
    for (; wr != nullptr && error == 0; wr = error == 0 ? wr->next : wr)
      error = datagrams_ != nullptr ? post_datagram(*wr) : queue_.push(*wr);
    check();
    if (error != 0 && bad != nullptr) *bad = wr;
    if (waiting_.empty()) return error;
  }
  const MutexLock pump(context_->pump_mutex());  // queue pairs stay while it is held
  {
    const MutexLock lock(mutex_);
    resumed.swap(waiting_);
  }
  context_->resume(&resumed);
  return error;
}

bool Srq::take(Receive* out, BaseQp* qp) {
  const MutexLock lock(mutex_);
  if (!queue_.pop(out)) {
    if (std::find(waiting_.begin(), waiting_.end(), qp) == waiting_.end()) waiting_.push_back(qp);
    compare_limit(0);  // it may have been set since the last request was taken
    return false;
  }
  compare_limit(queue_.size());
  return true;
}

void Srq::compare_limit(uint32_t size) {
  if (limit_ == 0 || size >= limit_) return;
  limit_ = 0;  // one event for each time it is set
  ibv_async_event event{};
  event.element.srq = verbs();
  event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
  context_->raise(event);
}

void Srq::forget(BaseQp* qp) {
  const MutexLock lock(mutex_);
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), qp), waiting_.end());
}

// [VRB-SRQ-1]
int Srq::modify(const ibv_srq_attr& attr, int mask) {
  if ((mask & ~(IBV_SRQ_LIMIT | IBV_SRQ_MAX_WR)) != 0) return EINVAL;
  const MutexLock lock(mutex_);
  const bool resizes = (mask & IBV_SRQ_MAX_WR) != 0;
  const uint32_t max_wr = resizes ? attr.max_wr : queue_.max_wr();
  const uint32_t limit = (mask & IBV_SRQ_LIMIT) != 0 ? attr.srq_limit : limit_;
  if (max_wr == 0 || max_wr > static_cast<uint32_t>(kMaxSrqWr) || limit > max_wr || posted_datagrams_ > max_wr)
    return EINVAL;
  if (resizes)
    if (const int error = queue_.resize(max_wr)) return error;
  limit_ = limit;
  if (!waiting_.empty()) compare_limit(queue_.size());  // nothing is taken until the application posts
  check();
  return 0;
}

// It is of one kind, and only connections wait for requests.
void Srq::check() {
  MRC_INVARIANT(datagrams_ == nullptr || !connections_);
  MRC_INVARIANT(datagrams_ == nullptr ? posted_datagrams_ == 0 : posted_datagrams_ <= queue_.max_wr());
  MRC_INVARIANT(connections_ || waiting_.empty());
}

ibv_srq_attr Srq::query() {
  const MutexLock lock(mutex_);
  return {queue_.max_wr(), queue_.max_sge(), limit_};
}

}  // namespace mrc::shim
