// How long the ends of many objects take whose peers have ended. [VRB-END-1]
#include "progress/settle_limit.h"

#include <gtest/gtest.h>

namespace mrc::shim {
namespace {

constexpr uint64_t kOrdinary = 500'000'000;

TEST(SettleLimit, is_short_for_ten_seconds_after_a_wait_that_ran_out) {
  SettleLimit limit;
  const uint64_t now = 3'000'000'000'000;
  EXPECT_EQ(limit.max_wait(now, kOrdinary), kOrdinary);
  limit.ran_out(now);
  EXPECT_EQ(limit.max_wait(now + SettleLimit::kOverdueForNs - 1, kOrdinary), SettleLimit::kOverdueSettleNs);
  EXPECT_EQ(limit.max_wait(now + SettleLimit::kOverdueForNs, kOrdinary), kOrdinary);
}

}  // namespace
}  // namespace mrc::shim
