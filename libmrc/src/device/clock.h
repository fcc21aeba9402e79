// The time of a device: the kernel's monotonic clock, or a test's.
#pragma once

#include <poll.h>
#include <time.h>

#include "base/time.h"
#include "clock_ns.h"

namespace mrc::device {

// For threads that wait in the kernel: their time cannot be another one.
inline Instant clock_now() {
  return Instant::from_ns(environment::clock_ns(CLOCK_MONOTONIC));
}

class Clock {
 public:
  virtual Instant now() const = 0;
  // As poll(2) for `max`, a few milliseconds.
  virtual void wait(pollfd* fds, nfds_t n, Duration max) const = 0;
  // Of the calling thread, for less than a second.
  virtual void pause(Duration time) const = 0;

 protected:
  ~Clock() = default;
};

class SystemClock final : public Clock {
 public:
  Instant now() const override { return clock_now(); }
  void wait(pollfd* fds, nfds_t n, Duration max) const override {
    ::poll(fds, n, static_cast<int>(max.ns() / 1000000));
  }
  void pause(Duration time) const override {
    const timespec left{0, static_cast<long>(time.ns())};
    ::nanosleep(&left, nullptr);
  }
};

inline const SystemClock host_clock;

}  // namespace mrc::device
