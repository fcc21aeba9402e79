// Asynchronous events of one MRC context: a queue, an eventfd to sleep on, and the number of events per object that the
// application still has to acknowledge. One mutex guards all of it; it is taken after the device's and any CQ's.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <unordered_map>

#include "api/public.h"
#include "fd.h"
#include "mutex.h"

namespace mrc::api {

class AsyncQueue {
 public:
  // `shared_fd` is the async descriptor of the verbs context, an eventfd in semaphore mode that counts the events of
  // all MRC contexts on it; its O_NONBLOCK flag decides whether get() blocks.
  [[nodiscard]] int open(int shared_fd);  // 0, or an errno value
  ~AsyncQueue();

  // Never fails: an event for which no memory is left, or a port event beyond kMaxQueued, is dropped.
  void raise(const mrc_async_event& event) noexcept ABSL_LOCKS_EXCLUDED(mutex_);
  [[nodiscard]] int get(mrc_async_event* event) ABSL_LOCKS_EXCLUDED(mutex_);  // 0, or an errno value
  void ack(const mrc_async_event& event) ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops the waiting events of a CQ or QP, then waits until those returned to the application are acknowledged.
  void forget(const void* element) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  static constexpr size_t kMaxQueued = 4096;
  std::optional<mrc_async_event> pop() ABSL_LOCKS_EXCLUDED(mutex_);
  void take_tokens();

  Mutex mutex_;
  CondVar acked_;
  std::deque<mrc_async_event> queue_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<const void*, unsigned> unacked_ ABSL_GUARDED_BY(mutex_);
  Fd fd_;
  int shared_fd_ = -1;
};

// The object that an event is about; null for a port.
const void* element_of(const mrc_async_event& event);

}  // namespace mrc::api
