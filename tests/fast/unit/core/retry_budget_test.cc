// Intervals and number of retries. [MRC-LOSS-3..5] [MRC-CHOICE-Q18]
#include "core/retry_budget.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

QpAttr attr(uint8_t timeout, uint8_t linear, uint8_t exp) {
  QpAttr a;
  a.timeout = timeout;
  a.retry_linear = linear;
  a.retry_exp = exp;
  return a;
}

TEST(RetryBudget, linear_attempts_then_doubling_ones) {
  const QpAttr a = attr(4, 2, 3);
  RetryBudget b;
  const Duration first = Duration::nanoseconds(1024 << 4);
  for (const int doublings : {0, 0, 0, 1, 2, 3}) {
    EXPECT_EQ(b.interval(a, Duration()), first * (1 << doublings)) << b.attempts();
    (void)b.charge(a);
  }
}

TEST(RetryBudget, the_interval_has_a_floor_and_an_upper_limit) {
  RetryBudget b;
  const QpAttr a = attr(4, 0, 24);
  EXPECT_EQ(b.interval(a, Duration::milliseconds(1)), Duration::milliseconds(1));
  for (int i = 0; i < 24; ++i) (void)b.charge(a);
  EXPECT_EQ(b.interval(a, Duration()), Duration::nanoseconds(1024ll << 24));
}

TEST(RetryBudget, is_spent_after_linear_and_exponential_attempts) {
  const QpAttr a = attr(4, 2, 1);
  RetryBudget b;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(b.charge(a)) << i;
  EXPECT_FALSE(b.charge(a));
}

TEST(RetryBudget, progress_restores_it) {
  const QpAttr a = attr(4, 1, 0);
  RetryBudget b;
  EXPECT_TRUE(b.charge(a));
  b.restore();
  EXPECT_EQ(b.attempts(), 0u);
  EXPECT_TRUE(b.charge(a));
  EXPECT_FALSE(b.charge(a));
}

TEST(RetryBudget, twenty_four_ends_and_twenty_five_does_not) {
  RetryBudget ends, forever;
  bool spent = false;
  for (int i = 0; i < 100; ++i) {
    if (!ends.charge(attr(0, 0, 24))) spent = true;
    EXPECT_TRUE(forever.charge(attr(0, 0, RetryBudget::kRetryForever)));
  }
  EXPECT_TRUE(spent);
}

TEST(RetryBudget, the_wait_of_the_oldest_packet) {
  RetryBudget b;
  const Instant start = Instant::from_ns(5000);
  b.begin_wait(start);
  EXPECT_FALSE(b.waited(start + Duration::nanoseconds(99), Duration::nanoseconds(100)));
  EXPECT_TRUE(b.waited(start + Duration::nanoseconds(100), Duration::nanoseconds(100)));
}

TEST(RetryBudget, once_it_is_spent_the_qp_has_ended) {
  const QpAttr a = attr(4, 1, 0);
  RetryBudget b;
  EXPECT_TRUE(b.charge(a));
  b.check(false);
  EXPECT_FALSE(b.charge(a));
  b.check(true);
  if (kCheckInvariants) {
    EXPECT_DEATH(b.check(false), "ended");
  }
  b.restore();
  b.check(false);
}

}  // namespace
}  // namespace mrc::core
