// A queue of events behind a descriptor that is readable exactly while an event waits (an eventfd in semaphore mode),
// and the count of those that the application has still to acknowledge. Completion channels and asynchronous events are
// both of this kind. Any thread; its lock is taken last.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace mrc::shim {

// What an object that has events carries; guarded by the queue's lock.
struct EventCount {
  uint64_t handed_out = 0;
  uint64_t acknowledged = 0;
};

template <typename Event>
class EventQueue {
 public:
  EventQueue() : fd_(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {}
  ~EventQueue() {
    if (fd_ >= 0) close(fd_);
  }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  int fd() const { return fd_; }
  void raise(const Event& event) {
    std::lock_guard lock(mutex_);
    events_.push_back(event);
    eventfd_write(fd_, 1);
  }
  // False: none waits. `count_of` gives the EventCount of the event's object, or null.
  template <typename CountOf>
  bool take(Event* out, CountOf&& count_of) {
    std::lock_guard lock(mutex_);
    if (events_.empty()) return false;
    eventfd_t one;
    eventfd_read(fd_, &one);
    *out = events_.front();
    events_.pop_front();
    if (EventCount* count = count_of(*out)) ++count->handed_out;
    return true;
  }
  void acknowledge(EventCount* count, uint64_t n) {
    std::lock_guard lock(mutex_);
    count->acknowledged += n;
    acknowledged_.notify_all();
  }
  // The object goes: its waiting events are dropped, those handed out are waited for.
  template <typename IsOf>
  void forget(EventCount* count, IsOf&& is_of) {
    std::unique_lock lock(mutex_);
    const auto kept = std::remove_if(events_.begin(), events_.end(), is_of);
    for (auto n = events_.end() - kept; n > 0; --n) {
      eventfd_t one;
      eventfd_read(fd_, &one);
    }
    events_.erase(kept, events_.end());
    acknowledged_.wait(lock, [&] { return count->acknowledged >= count->handed_out; });
  }

 private:
  const int fd_;
  std::mutex mutex_;
  std::condition_variable acknowledged_;
  std::deque<Event> events_;
};

}  // namespace mrc::shim
