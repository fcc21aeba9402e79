// LatencyHistogram: times in buckets that are at most an eighth wide, from 1 ns to hours. Fixed size; record() neither
// allocates nor locks. Threads: one at a time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "invariant.h"

namespace mrc::nccl {

class LatencyHistogram {
 public:
  void record(uint64_t ns, uint64_t times = 1) {
    counts_[std::min(bucket_of(ns), counts_.size() - 1)] += times;
    total_ += times;
    max_ = std::max(max_, ns);
    check();
  }
  uint64_t count() const { return total_; }
  uint64_t max() const { return max_; }
  // At least `share` (0 to 1) of the times are at most this, which is the upper end of its bucket, or the largest time.
  uint64_t quantile(double share) const {
    const auto wanted = static_cast<uint64_t>(share * static_cast<double>(total_) + 0.999999);
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i)
      if ((seen += counts_[i]) >= std::max<uint64_t>(wanted, 1)) return std::min(upper_end(i), max_);
    return max_;
  }
  void check() const {
    if constexpr (!kCheckInvariants) return;
    if (!pace_.due(counts_.size())) return;
    uint64_t sum = 0;
    for (const uint64_t count : counts_) sum += count;
    MRC_INVARIANT(sum == total_);
  }

 private:
  static constexpr unsigned kSubBits = 3, kSub = 1u << kSubBits;
  static size_t bucket_of(uint64_t ns) {
    if (ns < kSub) return static_cast<size_t>(ns);
    const unsigned shift = static_cast<unsigned>(std::bit_width(ns)) - kSubBits - 1;
    return (shift + 1) * kSub + static_cast<size_t>(ns >> shift & (kSub - 1));
  }
  static uint64_t upper_end(size_t bucket) {
    if (bucket < kSub) return bucket;
    const size_t shift = bucket / kSub - 1;
    return ((kSub + bucket % kSub + 1) << shift) - 1;
  }

  std::array<uint64_t, 44 * kSub> counts_{};  // to 2^46 ns
  uint64_t total_ = 0, max_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::nccl
