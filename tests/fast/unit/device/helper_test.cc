// When the helper thread parks, as a function of what it sees. The thread itself:
// tests/system/unit/device/helper_test.cc.
#include "device/helper.h"

#include <gtest/gtest.h>

namespace mrc::device {
namespace {

constexpr HelperTiming kTiming{Duration::microseconds(100), Duration::microseconds(500), Duration::microseconds(0)};
const Instant kNow = Instant::from_ns(1000000000);

HelperView view(Instant last_poll, Instant last_armed = kLongAgo, bool armed = false) {
  HelperView v;
  v.now = kNow;
  v.last_poll = last_poll;
  v.last_armed = last_armed;
  v.armed = armed;
  v.last_stand_in_sleep = kLongAgo;
  return v;
}

TEST(HelperParks, poll__both_sides_of_idle) {
  EXPECT_TRUE(helper_parks(view(kNow), kTiming));
  EXPECT_TRUE(helper_parks(view(kNow - kTiming.idle + Duration::nanoseconds(1)), kTiming));
  EXPECT_FALSE(helper_parks(view(kNow - kTiming.idle), kTiming));
  EXPECT_FALSE(helper_parks(view(kLongAgo), kTiming));
}

TEST(HelperParks, armed__serves_though_the_application_polls) {
  EXPECT_FALSE(helper_parks(view(kNow, kLongAgo, true), kTiming));
}

TEST(HelperParks, armed_lately__both_sides_of_park) {
  EXPECT_FALSE(helper_parks(view(kNow, kNow - kTiming.park + Duration::nanoseconds(1)), kTiming));
  EXPECT_TRUE(helper_parks(view(kNow, kNow - kTiming.park), kTiming));
}

TEST(HelperParks, poll_of_another_thread_a_moment_later_than_now) {
  EXPECT_TRUE(helper_parks(view(kNow + Duration::microseconds(5)), kTiming));
}

// A thread of the application sleeps on the sockets, for CQs that it has armed.
TEST(HelperParks, stand_in_sleeps__unless_a_cq_is_armed_for_another_thread) {
  HelperView v = view(kLongAgo, kNow, true);
  v.stand_in_sleeps = true;
  EXPECT_TRUE(helper_parks(v, kTiming));
  v.other_thread_waits = true;
  EXPECT_FALSE(helper_parks(v, kTiming));
}

TEST(HelperParks, stand_in_slept_lately__both_sides_of_park) {
  HelperView v = view(kLongAgo, kNow, true);
  v.last_stand_in_sleep = kNow - kTiming.park + Duration::nanoseconds(1);
  EXPECT_TRUE(helper_parks(v, kTiming));
  v.other_thread_waits = true;
  EXPECT_FALSE(helper_parks(v, kTiming));
  v.other_thread_waits = false;
  v.last_stand_in_sleep = kNow - kTiming.park;
  EXPECT_FALSE(helper_parks(v, kTiming));
}

}  // namespace
}  // namespace mrc::device
