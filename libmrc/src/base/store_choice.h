// StoreChoice: whether copies for readers on other cores are made by ordinary stores, or by those that bypass the
// caches (base/stream_copy.h). Which are better depends on where the readers run at the moment. No call tells that, but
// the time of an ordinary copy does: lines that were last read by a distant core take several times as long as others.
// While copies are slow, the other stores are used, and an ordinary copy is tried again from time to time.
// [MRC-LOCAL-9]
#pragma once

#include <cstddef>
#include <cstdint>

#include "invariant.h"

namespace mrc {

class StoreChoice {
 public:
  static constexpr size_t kWorthTiming = 16384;  // bytes: shorter copies cost little, and their time says little
  static constexpr uint32_t kSlowInARow = 2;     // one may have been interrupted
  static constexpr uint32_t kStreamed = 128;     // copies before an ordinary one is tried again

  // What is slower than `slow` is for a distant core. In bytes per 1,000 cycles of the time stamp counter, with all
  // that is timed beside the copy.
  explicit StoreChoice(uint64_t slow) : slow_rate_(slow) {}

  // For copies of kWorthTiming bytes or more. True: the next one is to bypass the caches. False: it is to be reported.
  bool stream() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  // An ordinary copy of `bytes` took so long.
  void note(size_t bytes, uint64_t cycles) {
    const bool is_slow = cycles * slow_rate_ > bytes * uint64_t{1000};
    slow_ = is_slow ? slow_ + 1 : 0;
    if (slow_ < kSlowInARow) return;
    slow_ = kSlowInARow - 1;  // the copy that is tried next decides alone
    left_ = kStreamed;
  }
  void check() const { MRC_INVARIANT(slow_ < kSlowInARow && left_ <= kStreamed); }

 private:
  uint64_t slow_rate_;
  uint32_t slow_ = 0;  // ordinary copies in a row
  uint32_t left_ = 0;  // copies that are still to bypass the caches
};

}  // namespace mrc
