#include "objects/completion_queue.h"

#include <cerrno>
#include <cstring>

#include "invariant.h"
#include "objects/base_qp.h"

namespace mrc::shim {

Cq::Cq(Context* context, int cqe, void* cq_context, Channel* channel, uint64_t wc_flags)
    : context_(context),
      channel_(channel),
      size_(static_cast<uint64_t>(cqe)),
      ring_(new Entry[static_cast<size_t>(cqe)]) {
  std::memset(static_cast<void*>(&handle_), 0, sizeof handle_);
  handle_.self = this;
  ibv_cq_ex& base = handle_.base;
  base.context = context->verbs();
  base.channel = channel != nullptr ? channel->verbs() : nullptr;
  base.cq_context = cq_context;
  base.cqe = cqe;
  pthread_mutex_init(&base.mutex, nullptr);
  pthread_cond_init(&base.cond, nullptr);
  fill_poll_functions(&base, wc_flags);
  context_->count_child(1);
  if (channel_ != nullptr) ++channel_->users;
}

Cq::~Cq() {
  {
    const MutexLock lock(mutex_);
    set_arm(Arm::kNot);
  }
  if (channel_ != nullptr) --channel_->users;
  context_->count_child(-1);
  pthread_mutex_destroy(&handle_.base.mutex);
  pthread_cond_destroy(&handle_.base.cond);
}

int Cq::take(int max, ibv_wc* out) {
  if (count_.load(std::memory_order_acquire) == 0) return 0;
  const MutexLock lock(mutex_);
  int n = 0;
  for (; n < max && head_ != tail_; ++head_) {
    const Entry& e = ring_[head_ % size_];
    out[n++] = e.wc;
    if (e.slots > 0) e.owner->release_slots(e.slots);
  }
  count_.store(tail_ - head_, std::memory_order_release);
  check();
  return n;
}

int Cq::poll(int max, ibv_wc* out) {
  if (context_->inherited()) return 0;  // a parent's thread may have held the locks at the fork [VRB-FRK-1]
  const int n = take(max, out);
  if (n > 0 || max == 0) return n;
  context_->poll();
  return take(max, out);
}

int Cq::next() {
  return poll(1, &current_) == 1 ? 0 : ENOENT;
}

bool Cq::push(const ibv_wc& wc, BaseQp* owner, uint32_t slots, bool solicited) {
  const MutexLock lock(mutex_);
  if (tail_ - head_ == size_) return false;
  ring_[tail_++ % size_] = {wc, owner, slots};
  count_.store(tail_ - head_, std::memory_order_release);
  if (arm_ == Arm::kAny || (arm_ == Arm::kSolicited && (solicited || wc.status != IBV_WC_SUCCESS))) {
    set_arm(Arm::kNot);
    channel_->events.raise(this);
  }
  check();
  return true;
}

void Cq::purge(const BaseQp* owner) {
  const MutexLock lock(mutex_);
  uint64_t kept = head_;
  for (uint64_t i = head_; i != tail_; ++i)
    if (ring_[i % size_].owner != owner) ring_[kept++ % size_] = ring_[i % size_];
  tail_ = kept;
  count_.store(tail_ - head_, std::memory_order_release);
  check();
}

// What it holds fits, and is what polling threads see without the lock; an armed one has a channel.
void Cq::check() const {
  MRC_INVARIANT(head_ <= tail_ && tail_ - head_ <= size_);
  MRC_INVARIANT(count_.load() == tail_ - head_);
  MRC_INVARIANT(arm_ == Arm::kNot || channel_ != nullptr);
}

void Cq::set_arm(Arm arm) {
  context_->activity().count_armed((arm != Arm::kNot ? 1 : 0) - (arm_ != Arm::kNot ? 1 : 0));
  arm_ = arm;
}

// [VRB-CQ-2]
void Cq::arm(bool solicited_only) {
  if (channel_ == nullptr) return;
  {
    const MutexLock lock(mutex_);
    if (arm_ != Arm::kAny) set_arm(solicited_only ? Arm::kSolicited : Arm::kAny);
    check();
  }
  context_->activity().note_arm();
  context_->wake_progress();
}

int Cq::resize(int cqe) {
  std::unique_ptr<Entry[]> ring(new Entry[static_cast<size_t>(cqe)]);
  const auto size = static_cast<uint64_t>(cqe);
  const MutexLock lock(mutex_);
  if (tail_ - head_ > size) return EINVAL;
  uint64_t n = 0;
  for (uint64_t i = head_; i != tail_; ++i) ring[n++] = ring_[i % size_];
  ring_ = std::move(ring);
  size_ = size;
  head_ = 0;
  tail_ = n;
  handle_.base.cqe = cqe;
  check();
  return 0;
}

void Cq::acknowledge(unsigned n) {
  if (channel_ != nullptr) channel_->events.acknowledge(&channel_events, n);
}

void Cq::forget_events() {
  if (channel_ != nullptr) channel_->events.forget(&channel_events, [this](Cq* cq) { return cq == this; });
  context_->async.forget(&async_events, [this](const ibv_async_event& e) {
    return e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == verbs();
  });
}

}  // namespace mrc::shim
