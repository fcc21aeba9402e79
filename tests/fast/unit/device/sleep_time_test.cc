#include "device/sleep_time.h"

#include <gtest/gtest.h>

namespace mrc::device {
namespace {

class SleepTimeTest : public ::testing::Test {
 protected:
  static Instant at(int64_t us) { return Instant() + Duration::microseconds(us); }
  Helper helper_;  // not started: it has no timer
  SleepTime sleep_{&helper_};
};

TEST_F(SleepTimeTest, ends_with_the_time_or_an_earlier_wake_up) {
  EXPECT_FALSE(sleep_.asleep());
  EXPECT_EQ(sleep_.end(), kLongAgo);
  sleep_.begin(at(500));
  EXPECT_TRUE(sleep_.asleep());
  EXPECT_EQ(sleep_.end(), at(500));
  EXPECT_TRUE(sleep_.finish(at(200)));
  EXPECT_EQ(sleep_.end(), at(200));
  sleep_.begin(at(500));
  EXPECT_TRUE(sleep_.finish(at(700)));
  EXPECT_FALSE(sleep_.asleep());
  EXPECT_EQ(sleep_.end(), at(500));
}

TEST_F(SleepTimeTest, of_two_threads_ends_with_the_second) {
  sleep_.begin(at(500));
  EXPECT_FALSE(sleep_.both_sleep());
  sleep_.begin(at(600));
  EXPECT_TRUE(sleep_.both_sleep());
  EXPECT_FALSE(sleep_.finish(at(550)));
  EXPECT_EQ(sleep_.end(), at(600));
  EXPECT_TRUE(sleep_.finish(at(600)));
}

// The next call of the application comes within 100 us as a rule.
TEST_F(SleepTimeTest, is_shortened_to_the_next_expected_call_at_most) {
  sleep_.begin(at(500));
  sleep_.advance(at(0), at(600));
  EXPECT_EQ(sleep_.end(), at(500));
  sleep_.advance(at(0), at(300));
  EXPECT_EQ(sleep_.end(), at(300));
  sleep_.advance(at(50), at(60));
  EXPECT_EQ(sleep_.end(), at(150));
  sleep_.advance(at(60), at(60));
  EXPECT_EQ(sleep_.end(), at(150));
}

TEST_F(SleepTimeTest, a_thread_that_ends_its_sleep_has_begun_one) {
  if (kCheckInvariants) {
    EXPECT_DEATH(sleep_.finish(at(0)), "sleepers_ >= 0");
  }
  sleep_.begin(at(500));
  sleep_.begin(at(500));
  if (kCheckInvariants) {
    EXPECT_DEATH(sleep_.begin(at(500)), "kMaxSleepers");
  }
}

}  // namespace
}  // namespace mrc::device
