// Nap: the sleep of a parked helper, on a timer. Any thread.
//
// It lasts `park`, and up to four times that while the polling continues. Polls push it ahead when it is about to end:
// to look itself, the helper would take the processor from the polling thread (2 % of the round trips of a ping-pong on
// two cores). A push costs up to 10 us in a virtual machine, so there is one for each nap.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"
#include "fd.h"

namespace mrc::device {

class Nap {
 public:
  static constexpr int64_t kLongest = 4;  // parks

  // A nap is of one `park` at first. False: errno.
  [[nodiscard]] bool open(Duration park);
  int fd() const { return timer_.get(); }  // readable at its end
  void set(Instant now, Duration length);
  // Twice as long as the last one, if it is about to end.
  void push(Instant now);
  // It does not end by itself.
  void disarm();

 private:
  Fd timer_;
  Duration park_;
  // Relaxed: threads that push at once set about the same nap. disarm() stores end_ after it has disarmed the timer:
  // otherwise a nap that another thread sets in between would seem to run.
  std::atomic<int64_t> end_{0}, length_{0};
};

// Arms a timer of CLOCK_MONOTONIC; never(): disarms it.
void set_timer(int timer, Instant at);

}  // namespace mrc::device
