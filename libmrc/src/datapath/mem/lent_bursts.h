// LentBursts: received bursts that have memory of their own, as one rx_burst() lends them until the next one.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "datapath/datapath.h"

namespace mrc::datapath {

struct OwnedBurst {
  core::RxBurst burst;  // its `data` is set when it is lent
  std::vector<uint8_t> bytes;
};

class LentBursts {
 public:
  // What was lent before is gone.
  void begin() { bursts_.clear(); }
  void add(OwnedBurst burst) { bursts_.push_back(std::move(burst)); }
  int count() const { return static_cast<int>(bursts_.size()); }
  // Lends all that were added since begin(); `out` has room for count() bursts, which it returns.
  int lend(core::RxBurst* out, DatapathCounters* counters) {
    for (OwnedBurst& own : bursts_) {
      own.burst.data = own.bytes.data();
      counters->count_received(own.burst);
      *out++ = own.burst;
    }
    return count();
  }

 private:
  std::vector<OwnedBurst> bursts_;
};

}  // namespace mrc::datapath
