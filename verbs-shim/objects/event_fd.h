// A queue of events behind a descriptor that is readable exactly while an event waits (an eventfd in semaphore mode),
// and the count of events not yet acknowledged by the application. Completion channels and asynchronous events are
// both of this kind. Any thread; its lock is taken last.
//
// The descriptor of a shared queue also counts the events of MRC contexts (mrc_soft_add_context_handle), so it may be
// readable while this queue is empty: waiting needs a second descriptor that counts this queue's events alone.
#pragma once

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <new>
#include <optional>

#include "fd.h"
#include "mutex.h"

namespace mrc::shim {

// The members of an object that has events; guarded by the queue's lock.
struct EventCount {
  uint64_t handed_out = 0;
  uint64_t acknowledged = 0;
};

template <typename Event>
class EventQueue {
 public:
  explicit EventQueue(bool shared = false) : fd_(make_fd()), own_(shared ? make_fd() : -1) {}

  int fd() const { return fd_.get(); }                     // the application's
  int own_fd() const { return own_ ? own_.get() : fd(); }  // readable exactly while this queue holds an event
  void raise(const Event& event) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    try {
      events_.push_back(event);
    } catch (const std::bad_alloc&) {  // the event is lost, not the program
      return;
    }
    eventfd_write(fd(), 1);
    if (own_) eventfd_write(own_.get(), 1);
  }
  // The oldest event, if one waits. `count_of` gives the EventCount of the event's object, or null.
  template <typename CountOf>
  std::optional<Event> take(CountOf&& count_of) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    if (events_.empty()) return std::nullopt;
    take_tokens();
    const Event event = events_.front();
    events_.pop_front();
    if (EventCount* count = count_of(event)) ++count->handed_out;
    return event;
  }
  void acknowledge(EventCount* count, uint64_t n) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    count->acknowledged += n;
    acknowledged_.notify_all();
  }
  // The object is destroyed: its waiting events are dropped; waits until those returned are acknowledged.
  template <typename IsOf>
  void forget(EventCount* count, IsOf&& is_of) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(mutex_);
    const auto kept = std::remove_if(events_.begin(), events_.end(), is_of);
    for (auto n = events_.end() - kept; n > 0; --n) take_tokens();
    events_.erase(kept, events_.end());
    while (count->acknowledged < count->handed_out) acknowledged_.wait(mutex_);
  }

 private:
  static int make_fd() { return eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE); }
  // Never sleeps, unless the kernel is older than 5.8: the application may have read the descriptor itself.
  static void take_token(int fd) {
    eventfd_t token;
    iovec into = {&token, sizeof token};
    if (preadv2(fd, &into, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP) eventfd_read(fd, &token);
  }
  void take_tokens() {
    take_token(fd());
    if (own_) take_token(own_.get());
  }

  const Fd fd_;
  const Fd own_;  // of a queue that shares the application's
  Mutex mutex_;
  CondVar acknowledged_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mrc::shim
