// ReportInterval: when the next line of a periodic output is due, and what it is compared with: the counters and the
// payload at the last one.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "stats.h"

namespace mrc::perf {

class ReportInterval {
 public:
  using Clock = std::chrono::steady_clock;

  // `length` 0: never due.
  void start(Clock::time_point now, std::chrono::milliseconds length, const Snapshot& stats) {
    length_ = length;
    last_ = now;
    next_ = length.count() != 0 ? now + length : Clock::time_point::max();
    stats_ = stats;
    bytes_ = 0;
  }
  // The line was written. Lines that the caller was too late for are left out.
  void advance(Clock::time_point now, Snapshot stats, uint64_t bytes) {
    last_ = now;
    while (next_ <= now) next_ += length_;
    stats_ = std::move(stats);
    bytes_ = bytes;
  }

  bool due(Clock::time_point now) const { return now >= next_; }
  Clock::time_point next() const { return next_; }  // max: never
  // Since the last line, or the start.
  double seconds(Clock::time_point now) const { return std::chrono::duration<double>(now - last_).count(); }
  uint64_t bytes(uint64_t now) const { return now - bytes_; }
  uint64_t counted(const Snapshot& now, const char* name) const { return now.counter(name) - stats_.counter(name); }
  uint64_t sent_by(const Snapshot& now, size_t plane) const {
    return now.plane(plane, "tx_bytes") - stats_.plane(plane, "tx_bytes");
  }

 private:
  std::chrono::milliseconds length_{0};
  Clock::time_point last_, next_;
  Snapshot stats_;
  uint64_t bytes_ = 0;
};

}  // namespace mrc::perf
