// When the next reliability probe is due, and which answers count. [MRC-LOSS-2]
#include "core/probe_timer.h"

#include <gtest/gtest.h>

#include <set>

namespace mrc::core {
namespace {

constexpr Instant kBegin = Instant::from_ns(1000000000);
constexpr Duration kPauseFloor = Duration::microseconds(500);

Duration pause(ProbeTimer* t, Duration usual) {
  t->arm(kBegin, kPauseFloor, usual);
  return t->deadline() - kBegin;
}

TEST(ProbeTimer, the_first_pause_is_a_round_trip_but_no_shorter_than_the_floor) {
  ProbeTimer t;
  EXPECT_EQ(t.deadline(), Instant::never());
  EXPECT_EQ(pause(&t, Duration::microseconds(499)), kPauseFloor);
  EXPECT_EQ(pause(&t, Duration::microseconds(501)), Duration::microseconds(501));
  t.cancel();
  EXPECT_EQ(t.deadline(), Instant::never());
}

TEST(ProbeTimer, the_pause_doubles_up_to_its_limit) {
  ProbeTimer t;
  for (int i = 1; i <= 6; ++i) {
    t.on_due();
    EXPECT_EQ(pause(&t, Duration()), std::min(kPauseFloor * (1 << i), ProbeTimer::kMaxPause)) << i;
  }
  for (int i = 0; i < 100; ++i) t.on_due();
  EXPECT_EQ(t.backoff(), ProbeTimer::kMaxBackoff);
  EXPECT_EQ(pause(&t, Duration()), ProbeTimer::kMaxPause);
  t.on_progress();
  EXPECT_EQ(pause(&t, Duration()), kPauseFloor);
}

TEST(ProbeTimer, a_long_round_trip_raises_the_limit_to_twice_itself) {
  ProbeTimer t;
  const Duration slow = Duration::milliseconds(30);
  EXPECT_EQ(pause(&t, slow), slow);
  t.on_due();
  EXPECT_EQ(pause(&t, slow), slow * 2);
  t.on_due();
  EXPECT_EQ(pause(&t, slow), slow * 2);
}

TEST(ProbeTimer, the_answer_to_the_latest_ends_the_wait) {
  ProbeTimer t;
  EXPECT_FALSE(t.on_answer(0));  // nothing has been asked
  t.on_sent(kBegin, 700, 4_ev, 0);
  EXPECT_TRUE(t.outstanding());
  const auto answer = t.on_answer(700);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->probe.ev, 4_ev);
  EXPECT_EQ(answer->probe.sent_at, kBegin);
  EXPECT_FALSE(answer->late);
  EXPECT_FALSE(t.outstanding());
  EXPECT_FALSE(t.on_answer(700));  // a second time
}

TEST(ProbeTimer, a_late_answer_to_the_first_counts_and_the_others_do_not) {
  ProbeTimer t;
  t.on_sent(kBegin, 1, 1_ev, 0);
  t.on_sent(kBegin + kPauseFloor, 2, 2_ev, 0);
  t.on_sent(kBegin + kPauseFloor * 2, 3, 3_ev, 0);
  for (const uint16_t id : {0, 1, 2, 3, 4}) EXPECT_EQ(t.expects(id), id == 1 || id == 3) << id;
  EXPECT_FALSE(t.on_answer(2));
  const auto late = t.on_answer(1);
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->late);
  EXPECT_EQ(late->probe.ev, 1_ev);
  EXPECT_TRUE(t.outstanding());
  EXPECT_FALSE(t.on_answer(1));
  const auto latest = t.on_answer(3);
  ASSERT_TRUE(latest);
  EXPECT_FALSE(latest->late);
}

TEST(ProbeTimer, unanswered_for_counts_from_the_latest) {
  ProbeTimer t;
  EXPECT_FALSE(t.unanswered_for(kBegin, Duration()));
  t.on_sent(kBegin, 1, 1_ev, 0);
  EXPECT_FALSE(t.unanswered_for(kBegin + Duration::nanoseconds(99), Duration::nanoseconds(100)));
  EXPECT_TRUE(t.unanswered_for(kBegin + Duration::nanoseconds(100), Duration::nanoseconds(100)));
}

TEST(ProbeTimer, nothing_is_outstanding_after_a_reset) {
  ProbeTimer t;
  t.on_sent(kBegin, 1, 1_ev, 0);
  t.reset();
  EXPECT_FALSE(t.outstanding());
  EXPECT_FALSE(t.expects(1));
  EXPECT_FALSE(t.on_answer(1));
}

// [MRC-SEC-15]: some of them do not give away the next, and none repeats one that is outstanding.
TEST(ProbeTimer, ids_are_unpredictable_and_none_is_outstanding_twice) {
  ProbeTimer one, other;
  int equal = 0, neighbours = 0;
  uint16_t before = 0;
  std::set<uint16_t> seen;
  for (int i = 0; i < 4000; ++i) {
    const uint16_t id = one.draw_id(1);
    equal += id == other.draw_id(2);
    neighbours += static_cast<uint16_t>(id - before) <= 1;
    if (i > 0) {
      EXPECT_FALSE(one.expects(id)) << i;
    }
    one.on_sent(kBegin, id, 1_ev, 0);
    seen.insert(before = id);
  }
  EXPECT_LT(equal, 5);
  EXPECT_LT(neighbours, 5);
  EXPECT_GT(seen.size(), 3700u);  // 3,880 of 65,536 by chance
}

}  // namespace
}  // namespace mrc::core
