#include "device/trace_ring.h"

#include <gtest/gtest.h>

namespace mrc::device {
namespace {

core::TraceEntry numbered(uint64_t n) {
  core::TraceEntry entry;
  entry.numbers[0] = n;
  return entry;
}

TEST(TraceRing, add__keeps_as_many_as_the_next_power_of_two_and_counts_the_others) {
  TraceRing ring(3);
  for (uint64_t n = 0; n < 4; ++n) ring.add(numbered(n));
  EXPECT_EQ(ring.waiting(), 4u);
  EXPECT_EQ(ring.lost(), 0u);
  ring.add(numbered(4));
  EXPECT_EQ(ring.waiting(), 4u);
  EXPECT_EQ(ring.lost(), 1u);
}

TEST(TraceRing, pop__takes_the_oldest_and_the_gap_stands_before_the_next_that_is_kept) {
  TraceRing ring(2);
  for (uint64_t n = 0; n < 5; ++n) ring.add(numbered(n));  // 2 to 4 are lost
  ring.pop();
  ring.add(numbered(5));
  ASSERT_EQ(ring.waiting(), 2u);
  EXPECT_EQ(ring.front().entry, numbered(1));
  EXPECT_EQ(ring.front().lost_before, 0u);
  ring.pop();
  EXPECT_EQ(ring.front().entry, numbered(5));
  EXPECT_EQ(ring.front().lost_before, 3u);
  ring.pop();
  EXPECT_EQ(ring.waiting(), 0u);
  ring.add(numbered(6));
  EXPECT_EQ(ring.front().lost_before, 0u);
  EXPECT_EQ(ring.lost(), 3u);
}

}  // namespace
}  // namespace mrc::device
