// ParkTimer: limits the sleep of a parked helper. Any thread.
//
// The sleep lasts `park`, and up to four times that while the polling continues. Polls extend it when it is about to
// end: to look itself, the helper would take the processor from the polling thread (2 % of the round trips of a
// ping-pong on two cores). That costs up to 10 us in a virtual machine, so it is done once for each sleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"
#include "fd.h"
#include "result.h"

namespace mrc::device {

class ParkTimer {
 public:
  static constexpr int64_t kMaxParks = 4;

  // A sleep is of one `park` at first.
  Status open(Duration park);
  int fd() const { return timer_.get(); }  // readable at its end
  void arm(Instant now, Duration length);
  // A sleep that is about to end goes on, for twice its length.
  void extend(Instant now);
  // The sleep does not end by itself.
  void disarm();

 private:
  Fd timer_;
  Duration park_;
  // Relaxed: threads that extend at once set about the same end. disarm() stores end_ after it has disarmed the timer:
  // otherwise one that another thread arms in between would seem to run.
  std::atomic<int64_t> end_{0}, length_{0};
};

// Arms a timer of CLOCK_MONOTONIC; never(): disarms it.
void set_timer(int timer, Instant at);

}  // namespace mrc::device
