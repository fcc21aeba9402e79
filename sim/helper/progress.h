// Progress of a run or sweep on standard error: the share that is done and an estimate of the time left, by one clock.
// A terminal has one line that changes; anything else, such as the log of a batch job, a line per minute.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "sim/config/units.h"

namespace mrc::sim {

class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool wanted() const { return wanted_; }
  double elapsed() const;  // seconds
  void run(Ps simulated, uint64_t events, double share);
  void sweep(size_t done, size_t points, double share);
  void clear();  // the line, before other output

 private:
  void show(const std::string& text);

  using Clock = std::chrono::steady_clock;
  const bool wanted_, terminal_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
  bool visible_ = false;
};

// "3 of 60 points, 7 %, about 2 min 30 s left"; `share` of the whole counts points that are under way, too.
std::string sweep_progress_text(size_t done, size_t points, double share, double elapsed);
std::string run_progress_text(Ps simulated, uint64_t events, double share, double elapsed);

}  // namespace mrc::sim
