// Buckets of durations: their ends, their octaves, and what is very short or very long. [MRC-LAT-1, MRC-LAT-2]
#include "core/delay_histogram.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

Duration ns(int64_t n) {
  return Duration::nanoseconds(n);
}

// The bucket in which a duration is counted.
size_t bucket_of(Duration delay) {
  DelayHistogram h;
  h.record(delay);
  for (size_t i = 0; i < DelayHistogram::kBuckets; ++i)
    if (h.in_bucket(i) == 1) return i;
  return DelayHistogram::kBuckets;
}

TEST(DelayHistogram, a_bucket_includes_its_upper_end) {
  for (size_t i = 0; i + 1 < DelayHistogram::kBuckets; ++i) {
    const Duration end = DelayHistogram::upper_end(i);
    EXPECT_EQ(bucket_of(end), i);
    EXPECT_EQ(bucket_of(end + ns(1)), i + 1);
  }
}

TEST(DelayHistogram, a_bucket_is_at_most_a_quarter_wide) {
  EXPECT_EQ(DelayHistogram::upper_end(0), ns(1024));
  for (size_t i = 1; i < DelayHistogram::kBuckets; ++i) {
    const int64_t before = DelayHistogram::upper_end(i - 1).ns(), end = DelayHistogram::upper_end(i).ns();
    EXPECT_GT(end, before) << i;
    EXPECT_LE(end * 4, before * 5) << i;
  }
}

TEST(DelayHistogram, octaves_count_what_their_ends_include) {
  for (size_t octave = 0; octave < DelayHistogram::kOctaves; ++octave) {
    DelayHistogram h;
    h.record(DelayHistogram::octave_end(octave));
    h.record(DelayHistogram::octave_end(octave) + ns(1));
    const DelayHistogram::Octaves octaves = h.octaves();
    EXPECT_EQ(octaves[octave], 1u) << octave;
    EXPECT_EQ(octaves[octave + 1], 1u) << octave;
  }
}

TEST(DelayHistogram, holds_what_is_very_short_or_very_long) {
  DelayHistogram h;
  h.record(ns(-5));  // a packet is taken from a burst that arrived before its request was posted
  h.record(ns(0));
  h.record(Duration::seconds(1000000));
  EXPECT_EQ(h.count(), 3u);
  EXPECT_EQ(h.octaves().front(), 2u);
  EXPECT_EQ(h.octaves().back(), 1u);
  EXPECT_EQ(h.max(), Duration::seconds(1000000));
  EXPECT_EQ(h.sum_ns(), 1000000000000000u);
}

}  // namespace
}  // namespace mrc::core
