// The silence that a queue pair of verbs allows, in the attributes of MRC. [VRB-QP-4]
#include "objects/retry_time.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mrc::shim {
namespace {

constexpr uint8_t kPacketTimeout = 14;

uint64_t asked(unsigned timeout, unsigned retry_cnt) {
  return (uint64_t{4096} << timeout) * (retry_cnt + 1);
}

TEST(RetryTime, is_what_verbs_asks_or_at_most_twice_as_long) {
  for (unsigned timeout = 1; timeout <= 24; ++timeout)
    for (unsigned retry_cnt = 0; retry_cnt <= 7; ++retry_cnt) {
      const uint64_t wanted = std::max(asked(timeout, retry_cnt), kMinSilence);
      if (wanted > silence_of({24, 7, 24})) continue;
      const uint64_t silence = silence_of(retries_for(timeout, retry_cnt, kPacketTimeout));
      EXPECT_GE(silence, wanted) << timeout << ' ' << retry_cnt;
      EXPECT_LE(silence, 2 * wanted + (uint64_t{8 * 1024} << kPacketTimeout)) << timeout << ' ' << retry_cnt;
    }
}

TEST(RetryTime, keeps_the_timeout_of_packets_while_that_is_enough) {
  EXPECT_EQ(retries_for(14, 7, kPacketTimeout).timeout, kPacketTimeout);
  EXPECT_EQ(retries_for(20, 7, kPacketTimeout).timeout, kPacketTimeout);
  EXPECT_EQ(retries_for(14, 7, 8).timeout, 8);
  EXPECT_GT(retries_for(24, 7, kPacketTimeout).timeout, kPacketTimeout);
}

TEST(RetryTime, is_endless_for_timeout_0_and_long_for_the_longest) {
  EXPECT_EQ(retries_for(0, 0, kPacketTimeout).exponential, MrcRetries::kForever);
  const MrcRetries longest = retries_for(31, 7, kPacketTimeout);
  EXPECT_EQ(silence_of(longest), silence_of({24, 7, 24}));
  EXPECT_GT(silence_of(longest), 540'000'000'000u);
}

// Beyond the ranges of verbs: as the largest value.
TEST(RetryTime, takes_any_value) {
  EXPECT_EQ(retries_for(14, 255, kPacketTimeout).exponential, retries_for(14, 7, kPacketTimeout).exponential);
  EXPECT_EQ(retries_for(32, 7, kPacketTimeout).timeout, retries_for(31, 7, kPacketTimeout).timeout);
  for (unsigned timeout = 0; timeout <= 255; ++timeout) {
    const MrcRetries r = retries_for(static_cast<uint8_t>(timeout), 7, 24);
    EXPECT_LE(r.timeout, 24);
    EXPECT_LE(r.linear, 7);
    EXPECT_LE(r.exponential, MrcRetries::kForever);
  }
}

}  // namespace
}  // namespace mrc::shim
