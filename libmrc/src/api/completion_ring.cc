#include "api/completion_ring.h"

#include <utility>

#include "invariant.h"

namespace mrc::api {

namespace {

// [API-CQ-1]
uint32_t ring_mask(int cqe) {
  uint32_t n = 1;
  while (n < static_cast<uint32_t>(cqe)) n *= 2;
  return n - 1;
}

}  // namespace

CompletionRing::Room::Room(int cqe) : mask(ring_mask(cqe)), ring(new Entry[mask + 1]) {}

void CompletionRing::open(int cqe) {
  if (is_open()) return;
  Room room(cqe);
  const MutexLock lock(mutex_);
  move_to(&room);
}

bool CompletionRing::is_open() {
  const MutexLock lock(mutex_);
  return ring_ != nullptr;
}

void CompletionRing::move_to(Room* room) {
  for (uint64_t i = head_; i != tail_; ++i) room->ring[i & room->mask] = ring_[i & mask_];
  ring_.swap(room->ring);
  std::swap(mask_, room->mask);
  check();
}

// [API-CQ-2]
bool CompletionRing::push(const ibv_wc& wc, SendSlots* owner, uint32_t slots) {
  const MutexLock lock(mutex_);
  if (tail_ - head_ > mask_) return false;
  MRC_INVARIANT(slots == 0 || owner != nullptr);
  ring_[tail_ & mask_] = {wc, owner, slots};
  ++tail_;
  count_.store(static_cast<uint32_t>(tail_ - head_), std::memory_order_release);
  check();
  return true;
}

int CompletionRing::take(int max, ibv_wc* out) {
  if (count_.load(std::memory_order_acquire) == 0) return 0;
  const MutexLock lock(mutex_);
  int n = 0;
  while (n < max && head_ != tail_) {
    Entry& e = ring_[head_ & mask_];
    out[n++] = e.wc;
    if (e.slots > 0) e.owner->release(e.slots);
    ++head_;
  }
  count_.store(static_cast<uint32_t>(tail_ - head_), std::memory_order_release);
  check();
  return n;
}

// [API-CQ-5]
void CompletionRing::purge(const SendSlots* owner) {
  const MutexLock lock(mutex_);
  uint64_t kept = head_;
  for (uint64_t i = head_; i != tail_; ++i)
    if (ring_[i & mask_].owner != owner) ring_[kept++ & mask_] = ring_[i & mask_];
  tail_ = kept;
  count_.store(static_cast<uint32_t>(tail_ - head_), std::memory_order_release);
  check();
}

void CompletionRing::check() const {
  MRC_INVARIANT((mask_ & (mask_ + 1)) == 0);
  MRC_INVARIANT(tail_ - head_ <= (ring_ != nullptr ? uint64_t{mask_} + 1 : 0));
  MRC_INVARIANT(count_.load(std::memory_order_relaxed) == tail_ - head_);
}

}  // namespace mrc::api
