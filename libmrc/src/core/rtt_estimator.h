// RttEstimator: round trips of one QP: smoothed, variation (RFC 6298), minimum. Sans-IO.
#pragma once

#include <algorithm>

#include "base/time.h"
#include "invariant.h"

namespace mrc::core {

class RttEstimator {
 public:
  // A round trip that is known to be of one copy of one packet [MRC-LOSS-6].
  void on_sample(Duration rtt) {
    min_ = std::min(min_, rtt);
    if (!known()) {
      smoothed_ = rtt;
      variation_ = rtt / 2;
      return;
    }
    const Duration off = rtt > smoothed_ ? rtt - smoothed_ : smoothed_ - rtt;
    variation_ = variation_ + (off - variation_) / 4;
    smoothed_ = smoothed_ + (rtt - smoothed_) / 8;
  }

  bool known() const { return smoothed_ > Duration(); }
  Duration smoothed() const { return smoothed_; }    // zero until known
  Duration variation() const { return variation_; }  // zero until known
  Duration min() const { return min_; }              // infinite until known
  void check() const { MRC_INVARIANT(!known() || (min_ <= smoothed_ && variation_ >= Duration())); }

 private:
  Duration smoothed_, variation_, min_ = Duration::infinite();
};

}  // namespace mrc::core
