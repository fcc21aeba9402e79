// When a message is sent again, and when no more.
#include "cm/retransmission.h"

#include <gtest/gtest.h>

namespace mrc::shim::cm {
namespace {

constexpr uint64_t kNow = 1'000'000'000;

// [CM-RTX-1]
TEST(CmRetransmission, intervals_double_up_to_the_maximum) {
  Retransmission r;
  for (const uint64_t ms : {200u, 400u, 800u, 1600u, 2000u, 2000u})
    EXPECT_EQ(r.next_attempt(kNow, /*connection=*/0), kNow + ms * kMs);
}

TEST(CmRetransmission, an_eighth_at_most_is_added_that_differs_between_connections) {
  Retransmission one, other;
  const uint64_t first = one.next_attempt(kNow, UINT64_MAX), second = other.next_attempt(kNow, 2);
  EXPECT_NE(first, second);
  for (const uint64_t at : {first, second}) {
    EXPECT_GT(at, kNow + kFirstRetry);
    EXPECT_LT(at, kNow + kFirstRetry + kFirstRetry / 8);
  }
}

TEST(CmRetransmission, is_exhausted_after_the_last_attempt) {
  Retransmission r;
  for (int i = 0; i < kMaxAttempts; ++i) {
    EXPECT_FALSE(r.exhausted(kNow));
    r.next_attempt(kNow, 1);
  }
  EXPECT_TRUE(r.exhausted(kNow));
}

// [CM-RTX-2]
TEST(CmRetransmission, a_peer_that_asks_for_time_has_it_once) {
  Retransmission r;
  for (int i = 0; i < kMaxAttempts; ++i) r.next_attempt(kNow, 1);
  EXPECT_TRUE(r.on_mra(kNow));
  EXPECT_FALSE(r.exhausted(kNow));
  EXPECT_EQ(r.next_attempt(kNow, 1), kNow + kMaxRetry);
  EXPECT_FALSE(r.on_mra(kNow + kDecisionLimit - 1));
  EXPECT_FALSE(r.exhausted(kNow + kDecisionLimit - 1));
  EXPECT_TRUE(r.exhausted(kNow + kDecisionLimit));
}

// [CM-GONE-1]
TEST(CmRetransmission, refusals_last_from_the_first_until_an_answer) {
  Retransmission r;
  EXPECT_FALSE(r.refused());
  EXPECT_EQ(r.on_refused(kNow), 0u);
  EXPECT_EQ(r.on_refused(kNow + 5), 5u);
  EXPECT_TRUE(r.refused());
  r.on_answer();
  EXPECT_FALSE(r.refused());
  EXPECT_EQ(r.on_refused(kNow + 9), 0u);
  for (int i = 0; i < kMaxAttempts; ++i) r.next_attempt(kNow, 0);
  r.restart_attempts();
  EXPECT_FALSE(r.exhausted(kNow));
  EXPECT_EQ(r.next_attempt(kNow, 0), kNow + 2 * kFirstRetry);
}

}  // namespace
}  // namespace mrc::shim::cm
