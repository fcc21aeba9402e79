// DelayHistogram: durations counted in buckets of a quarter of an octave, from 1 us to 137 s. Fixed size, no
// allocation, sans-IO; plain values, any thread, one at a time. [MRC-LAT-1, MRC-LAT-2]
//
// Buckets include their upper ends, as those of Prometheus do, so that four neighbouring ones are a bucket of it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace mrc::core {

class DelayHistogram {
 public:
  static constexpr size_t kOctaves = 27;
  static constexpr size_t kBuckets = 1 + kOctaves * 4;  // the first one is up to 1024 ns, the last one has no end

  void record(Duration delay) {
    const auto ns = static_cast<uint64_t>(std::max<int64_t>(delay.ns(), 0));
    ++counts_[bucket_of(ns)];
    ++total_;
    sum_ns_ += ns;
    max_ = std::max(max_, Duration::nanoseconds(static_cast<int64_t>(ns)));
  }

  uint64_t count() const { return total_; }
  uint64_t sum_ns() const { return sum_ns_; }
  Duration max() const { return max_; }
  uint64_t in_bucket(size_t bucket) const { return counts_[bucket]; }
  static constexpr Duration upper_end(size_t bucket) {
    if (bucket == 0) return Duration::nanoseconds(int64_t{1} << kSmallest);
    const auto octave = (bucket - 1) / 4, quarter = (bucket - 1) % 4;
    return Duration::nanoseconds(static_cast<int64_t>(5 + quarter) << (octave + kSmallest - 2));
  }

  // By octave: [0] up to 1024 ns, [i] up to twice the end of [i - 1], and the last one all that is longer than 69 s.
  using Octaves = std::array<uint64_t, kOctaves + 1>;
  Octaves octaves() const {
    Octaves sums{counts_[0]};
    for (size_t i = 1; i < kBuckets; ++i) sums[1 + (i - 1) / 4] += counts_[i];
    return sums;
  }
  static constexpr Duration octave_end(size_t octave) {
    return Duration::nanoseconds(int64_t{1} << (octave + kSmallest));
  }

 private:
  static constexpr size_t kSmallest = 10;  // log2 of the first bucket's end in ns

  static size_t bucket_of(uint64_t ns) {
    const uint64_t below = std::max<uint64_t>(ns, 1) - 1;
    if (below >> kSmallest == 0) return 0;
    const auto width = static_cast<size_t>(std::bit_width(below)) - 1;
    return std::min(1 + (width - kSmallest) * 4 + (below >> (width - 2) & 3), kBuckets - 1);
  }

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t total_ = 0, sum_ns_ = 0;
  Duration max_;
};

// What requests to one peer have taken.
struct PeerLatency {
  DelayHistogram completion;      // from posting to success [MRC-LAT-1]
  DelayHistogram retransmission;  // of packets sent again, from the first copy to the acknowledgement [MRC-LAT-2]
};

}  // namespace mrc::core
