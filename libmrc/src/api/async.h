// Asynchronous events of one MRC context: a queue, an eventfd to sleep on, and how many events of which object the
// application still has to acknowledge. All of it under one mutex, which is taken after the device's and any CQ's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "api/public.h"

namespace mrc::api {

class AsyncQueue {
 public:
  // `shared_fd` is the async descriptor of the verbs context, an eventfd in semaphore mode that counts the events of
  // all MRC contexts on it; its O_NONBLOCK flag decides whether get() blocks.
  bool open(int shared_fd);
  ~AsyncQueue();

  // Never fails: an event that finds no memory, or a port event beyond kMaxQueued, is dropped.
  void raise(const mrc_async_event& event) noexcept;
  int get(mrc_async_event* event);  // 0, or an errno value
  void ack(const mrc_async_event& event);
  // Drops the waiting events of a CQ or QP, then waits until those handed out are acknowledged.
  void forget(const void* element);

 private:
  static constexpr size_t kMaxQueued = 4096;
  bool pop(mrc_async_event* event);
  void take_tokens();

  std::mutex mutex_;
  std::condition_variable acked_;
  std::deque<mrc_async_event> queue_;
  std::unordered_map<const void*, unsigned> unacked_;
  int fd_ = -1;
  int shared_fd_ = -1;
};

// The object that an event is about; null for a port.
const void* element_of(const mrc_async_event& event);

}  // namespace mrc::api
