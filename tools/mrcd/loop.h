// Loop: the one thread of mrcd that owns all state. Descriptors, timers and closures from other threads, until stop().
// Only post() and stop() may be called from other threads; stop() also from a signal handler.
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <map>
#include <vector>

#include "base/time.h"
#include "mutex.h"

namespace mrc::mrcd {

Instant steady_now();

class Loop {
 public:
  using Ready = std::function<void(short events)>;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // One watcher per descriptor; watching again changes events and function.
  void watch(int fd, short events, Ready ready);
  void unwatch(int fd);
  // For as long as the loop is there.
  void every(Duration interval, std::function<void(Instant now)> due);
  void post(std::function<void()> closure) ABSL_LOCKS_EXCLUDED(mutex_);

  void run();
  void stop();

 private:
  struct Timer {
    Duration interval;
    Instant next;
    std::function<void(Instant)> due;
  };
  void take_posted();
  int wait_ms() const;

  std::map<int, std::pair<short, Ready>> watched_;
  std::vector<Timer> timers_;
  Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  int wake_ = -1;
  std::atomic<bool> stopping_{false};
};

}  // namespace mrc::mrcd
