// RecentMax: the maximum of this epoch and the last one. The owner begins each epoch.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace mrc::core {

class RecentMax {
 public:
  void add(Duration value) { now_ = std::max(now_, value); }
  Duration max() const { return std::max(now_, before_); }
  void begin() {
    before_ = now_;
    now_ = Duration();
  }

 private:
  Duration now_, before_;
};

}  // namespace mrc::core
