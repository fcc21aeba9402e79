// Times of writing the state file: at once after a change, unless one was written just before; then after a pause. The
// pause grows with the duration of a write, because tables are filled by many calls in a row, each of which would
// otherwise write the whole table. Pure: time is an argument. [MRC-MRCD-7]
#pragma once

#include <algorithm>

#include "base/time.h"

namespace mrc::mrcd {

class SavePace {
 public:
  static constexpr Duration kMinInterval = Duration::milliseconds(100);
  static constexpr int64_t kTimes = 10;  // of the duration of a write

  bool due(Instant now) const { return now >= next_; }
  void wrote(Instant begin, Instant end) { next_ = end + std::max(kMinInterval, (end - begin) * kTimes); }

 private:
  Instant next_ = kLongAgo;
};

}  // namespace mrc::mrcd
