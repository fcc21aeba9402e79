// Drain: the time after a side has stopped sending, until what is in flight is acknowledged and the other side has
// finished, too. It is limited from one completion to the next, and in all; a side that only receives waits longer,
// because the other one can report better what is missing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace mrc::perf {

class Drain {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kStall = std::chrono::seconds(10), kLimit = std::chrono::seconds(30);
  static constexpr auto kUnannounced = std::chrono::seconds(1);

  void restart() { *this = {}; }
  // To be called while it lasts. `done`: a number that grows with everything that completes or arrives. True: it takes
  // too long.
  bool overdue(Clock::time_point now, uint64_t done, bool sender) {
    if (!begin_) begin_ = moved_ = now;
    if (done != done_) {
      done_ = done;
      moved_ = now;
    }
    return sender ? now - moved_ > kStall || now - *begin_ > kLimit : now - *begin_ > kLimit + kStall;
  }
  // True once, when it has lasted so long that a user asks why the run does not end.
  bool to_announce(Clock::time_point now) {
    if (announced_ || !begin_ || now - *begin_ <= kUnannounced) return false;
    announced_ = true;
    return true;
  }

 private:
  std::optional<Clock::time_point> begin_;
  Clock::time_point moved_;  // when `done_` changed last
  uint64_t done_ = 0;
  bool announced_ = false;
};

}  // namespace mrc::perf
