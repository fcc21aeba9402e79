// FlushPace: when to flush again after a flush that the kernel did not take whole. No descriptor shows that it takes
// the rest. The pauses grow with the time that frames wait, as for a port that is down.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace mrc::datapath {

class FlushPace {
 public:
  static constexpr Duration kMinPause = Duration::microseconds(50), kMaxPause = Duration::milliseconds(10);

  // The datapath is called, so that it flushes if necessary.
  void note_call(Instant now) { called_ = now; }
  // During the last call. `unsent`: frames wait for another flush.
  void note_flush(bool unsent) {
    if (!unsent)
      unsent_since_ = Instant::never();
    else if (unsent_since_ == Instant::never())
      unsent_since_ = called_;
  }
  // Never: nothing waits.
  Instant next_flush() const {
    if (unsent_since_ == Instant::never()) return Instant::never();
    return called_ + std::clamp((called_ - unsent_since_) / 4, kMinPause, kMaxPause);
  }

 private:
  Instant called_;
  Instant unsent_since_ = Instant::never();
};

}  // namespace mrc::datapath
