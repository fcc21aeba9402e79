// Repetition of a query to a peer [MRC-EXT-2].
#include "core/pending_query.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

const Instant kAsked = Instant::from_ns(1000);

TEST(PendingQuery, begins_with_no_tries_and_its_nonce) {
  PendingQuery q;
  EXPECT_EQ(q.next, Instant::never());
  q.count_try(kAsked);
  q.begin(kAsked, 7);
  EXPECT_EQ(q.nonce, 7u);
  EXPECT_EQ(q.tries, 0);
  EXPECT_EQ(q.begun, kAsked);
  q.check();
}

TEST(PendingQuery, pauses_double_up_to_their_maximum_until_the_tries_are_used_up) {
  PendingQuery q;
  q.begin(kAsked, 1);
  Instant now = kAsked;
  for (uint8_t i = 0; i < PendingQuery::kMaxTries; ++i) {
    EXPECT_FALSE(q.exhausted()) << int{i};
    q.count_try(now);
    const int doublings = i < PendingQuery::kMaxDoublings ? i : PendingQuery::kMaxDoublings;
    EXPECT_EQ(q.next - now, PendingQuery::kFirstPause * (1 << doublings)) << int{i};
    now = q.next;
    q.check();
  }
  EXPECT_TRUE(q.exhausted());
}

TEST(PendingQuery, restart__waits_for_a_first_pause_since_the_last_try) {
  PendingQuery q;
  q.begin(kAsked, 1);
  for (int i = 0; i < 5; ++i) q.count_try(kAsked);
  q.restart(kAsked + Duration::nanoseconds(1));
  EXPECT_EQ(q.tries, 0);
  EXPECT_EQ(q.next, kAsked + PendingQuery::kFirstPause);
  q.restart(kAsked + PendingQuery::kFirstPause * 2);
  EXPECT_EQ(q.next, kAsked + PendingQuery::kFirstPause * 2);
}

}  // namespace
}  // namespace mrc::core
