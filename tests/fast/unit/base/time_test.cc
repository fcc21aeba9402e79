#include "base/time.h"

#include <gtest/gtest.h>

namespace mrc {
namespace {

TEST(Time, a_thousand_of_a_unit_are_one_of_the_next) {
  EXPECT_EQ(Duration::microseconds(3), Duration::nanoseconds(3000));
  EXPECT_EQ(Duration::milliseconds(3), Duration::microseconds(3000));
  EXPECT_EQ(Duration::seconds(3), Duration::milliseconds(3000));
  EXPECT_EQ(Duration().ns(), 0);
}

TEST(Time, durations_and_instants_add_and_subtract_in_nanoseconds) {
  const Duration d = Duration::microseconds(10);
  EXPECT_EQ((d + d).ns(), 20000);
  EXPECT_EQ((d - d * 2).ns(), -10000);
  EXPECT_EQ((d / 4).ns(), 2500);
  const Instant t = Instant::from_ns(1000);
  EXPECT_EQ((t + d).ns(), 11000);
  EXPECT_EQ((t - d).ns(), -9000);
  EXPECT_EQ((t + d) - t, d);
}

TEST(Time, earlier_instants_and_shorter_durations_are_less) {
  const Instant a = Instant::from_ns(1);
  const Instant b = Instant::from_ns(2);
  EXPECT_TRUE(a < b && a <= b && b > a && b >= a && a != b && a == a && a <= a && a >= a);
  EXPECT_FALSE(a > b || a >= b || b < a || b <= a || a == b);
  const Duration c = Duration::nanoseconds(1);
  const Duration d = Duration::nanoseconds(2);
  EXPECT_TRUE(c < d && c <= d && d > c && d >= c && c != d && c == c);
}

TEST(Time, long_ago_is_before_all_times_and_any_distance_to_it_is_a_duration) {
  EXPECT_EQ(kLongAgo.ns(), kLongAgoNs);
  EXPECT_TRUE(kLongAgo < Instant());
  EXPECT_TRUE(kLongAgo + Duration::infinite() <= Instant());
  EXPECT_TRUE(kLongAgo - Duration::infinite() < kLongAgo);
  EXPECT_TRUE(Instant::never() - kLongAgo > Duration::infinite());
}

TEST(Time, never_and_infinite_survive_addition) {
  EXPECT_TRUE(Instant::never() + Duration::infinite() > Instant::never());
  EXPECT_TRUE(Instant::from_ns(0) + Duration::infinite() < Instant::never());
  EXPECT_TRUE(Instant::from_ns(INT64_MAX / 4) < Instant::never());
}

}  // namespace
}  // namespace mrc
