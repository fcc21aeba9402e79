// When the state file is written: at once after a change, unless one was written just before; then after a pause. The
// pause grows with what writing takes, because tables are filled by many calls in a row, each of which would else write
// all that is there already. Pure: time is an argument. [MRC-MRCD-7]
#pragma once

#include <algorithm>

#include "base/time.h"

namespace mrc::mrcd {

class SavePace {
 public:
  static constexpr Duration kLeast = Duration::milliseconds(100);
  static constexpr int64_t kTimes = 10;  // of what writing took

  bool due(Instant now) const { return now >= next_; }
  void wrote(Instant begin, Instant end) { next_ = end + std::max(kLeast, (end - begin) * kTimes); }

 private:
  Instant next_ = Instant::from_ns(INT64_MIN / 4);
};

}  // namespace mrc::mrcd
