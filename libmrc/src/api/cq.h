// Completion queue: a ring of completions under a mutex of its own.
//
// The device pushes while it holds its lock; polling takes only this mutex, and the device's when the ring is empty, to
// make progress. Nothing allocates after creation. Lock order: device, then CQ, then channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "api/ev_events.h"
#include "api/public.h"
#include "mutex.h"

namespace mrc::api {

// Events of one CQ; guarded by the channel's mutex.
struct EventState {
  mrc_cq* next = nullptr;
  uint64_t waiting = 0;  // raised, not yet returned to the application
  uint64_t handed_out = 0;
  uint64_t acked = 0;
};

}  // namespace mrc::api

struct mrc_cq {
 public:
  // Throws std::bad_alloc.
  mrc_cq(mrc_context* context, int cqe, void* cq_context, mrc_comp_channel* channel);
  ~mrc_cq();

  mrc_context* context() const { return context_; }
  void* cq_context() const { return cq_context_; }
  mrc_comp_channel* channel() const { return channel_; }

  // False when the ring is full: the completion is lost, and the caller puts the QP in error.
  bool push(const ibv_wc& wc, mrc_qp* owner, uint32_t slots, bool solicited) ABSL_LOCKS_EXCLUDED(mutex_);
  int take(int max, ibv_wc* out) ABSL_LOCKS_EXCLUDED(mutex_);
  // 0, or an errno value. Throws std::bad_alloc.
  int resize(int cqe) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes the completions of a QP that is being reset or destroyed.
  void purge(const mrc_qp* owner) ABSL_LOCKS_EXCLUDED(mutex_);
  void arm(bool solicited_only) ABSL_LOCKS_EXCLUDED(mutex_);
  bool armed() const { return arm_.load(std::memory_order_relaxed) != Arm::kNot; }
  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }
  // Raises the event of an armed queue; any thread.
  void notify() ABSL_LOCKS_EXCLUDED(mutex_);
  // True the first time only: the queue is overrun.
  bool mark_overrun() { return !overrun_.exchange(true); }

  mrc::api::EventState events;
  std::atomic<int> users{0};  // QPs; once per direction
  // Of a CQ for EV events; null for all others. Set before the queue is visible to other threads.
  std::unique_ptr<mrc::api::EvEvents> ev_events;

 private:
  enum class Arm : uint8_t { kNot, kSolicited, kAny };
  struct Entry {
    ibv_wc wc;
    mrc_qp* owner;
    uint32_t slots;
  };

  mrc_context* const context_;
  void* const cq_context_;
  mrc_comp_channel* const channel_;
  mrc::Mutex mutex_;
  uint32_t mask_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Entry[]> ring_ ABSL_GUARDED_BY(mutex_);
  uint64_t head_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t tail_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<uint32_t> count_{0};   // written under the mutex; read without it to skip an empty queue
  std::atomic<Arm> arm_{Arm::kNot};  // written under the mutex
  std::atomic<bool> overrun_{false};
};
