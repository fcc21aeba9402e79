// RecentMax: the maximum of this epoch and the last one. The owner says when an epoch ends.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace mrc::core {

class RecentMax {
 public:
  void add(Duration value) { now_ = std::max(now_, value); }
  Duration max() const { return std::max(now_, before_); }
  // True: the epoch is over.
  bool due(Instant now) const { return now >= next_; }
  void begin(Instant next) {
    before_ = now_;
    now_ = Duration();
    next_ = next;
  }

 private:
  Duration now_, before_;
  Instant next_ = Instant::from_ns(INT64_MIN / 4);
};

}  // namespace mrc::core
