#include "core/rtt_estimator.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

constexpr Duration us(int64_t n) {
  return Duration::microseconds(n);
}

TEST(rtt_estimator, knows_nothing_at_first) {
  const RttEstimator rtt;
  EXPECT_FALSE(rtt.known());
  EXPECT_EQ(rtt.smoothed(), Duration());
  EXPECT_EQ(rtt.variation(), Duration());
  EXPECT_EQ(rtt.min(), Duration::infinite());
}

TEST(rtt_estimator, takes_the_first_sample_whole) {
  RttEstimator rtt;
  rtt.on_sample(us(40));
  EXPECT_TRUE(rtt.known());
  EXPECT_EQ(rtt.smoothed(), us(40));
  EXPECT_EQ(rtt.variation(), us(20));
  EXPECT_EQ(rtt.min(), us(40));
}

TEST(rtt_estimator, moves_by_an_eighth_and_its_variation_by_a_quarter) {
  RttEstimator rtt;
  rtt.on_sample(us(40));
  rtt.on_sample(us(80));
  EXPECT_EQ(rtt.smoothed(), us(45));
  EXPECT_EQ(rtt.variation(), us(25));
  EXPECT_EQ(rtt.min(), us(40));
  rtt.on_sample(us(5));
  EXPECT_EQ(rtt.smoothed(), us(40));
  EXPECT_EQ(rtt.variation(), Duration::nanoseconds(28750));
  EXPECT_EQ(rtt.min(), us(5));
}

}  // namespace
}  // namespace mrc::core
