// RunTime: how long a run sends: for a duration, or until all messages are sent; less after an interrupt of either
// side.
#pragma once

#include <chrono>

namespace mrc::perf {

class RunTime {
 public:
  using Clock = std::chrono::steady_clock;

  // `seconds` 0: no duration.
  void start(Clock::time_point now, double seconds) {
    begin_ = now;
    const auto length = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    deadline_ = seconds == 0 ? Clock::time_point::max() : begin_ + length;
    stopped_ = false;
  }
  void stop() { stopped_ = true; }
  void check(Clock::time_point now) {
    if (now >= deadline_) stopped_ = true;
  }

  Clock::time_point begin() const { return begin_; }
  Clock::time_point deadline() const { return deadline_; }  // max: none
  bool limited() const { return deadline_ != Clock::time_point::max(); }
  // Nothing more is sent.
  bool stopped() const { return stopped_; }

 private:
  Clock::time_point begin_, deadline_;
  bool stopped_ = false;
};

}  // namespace mrc::perf
