// PathMeter: which samples move rate and round trip [MRC-NSCC-26].
#include "core/path_meter.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

constexpr double kAssumed = 100e9;
constexpr Duration kAssumedRtt = Duration::microseconds(50);

struct Feed {
  // `gbps` for `ms` milliseconds, one SACK every 100 us.
  void run(double gbps, int ms, bool backlog, bool cut) {
    for (int i = 0; i < ms * 10; ++i) {
      now = now + Duration::microseconds(100);
      meter.on_delivered(static_cast<uint32_t>(gbps * 1e9 / 8 / 10000));
      meter.on_sack(now, backlog, cut);
    }
  }
  void round_trip(int us, int after_us = 0) {
    now = now + Duration::microseconds(after_us);
    meter.on_rtt(now, Duration::microseconds(us));
  }
  double gbps() const { return meter.rate_bps() / 1e9; }

  PathMeter meter{kAssumed, kAssumedRtt};
  Instant now = Instant::from_ns(5000000000);
};

TEST(PathMeter, holds_what_is_assumed_until_something_is_measured) {
  Feed f;
  EXPECT_EQ(f.meter.generation(), 0u);
  EXPECT_DOUBLE_EQ(f.gbps(), 100);
  EXPECT_EQ(f.meter.rtt(), kAssumedRtt);
}

TEST(PathMeter, a_cut_window_with_backlog_gives_the_rate) {
  Feed f;
  f.run(40, 20, true, true);
  EXPECT_NEAR(f.gbps(), 40, 0.5);
  EXPECT_GE(f.meter.generation(), 1u);
}

TEST(PathMeter, an_idle_application_says_nothing) {
  Feed f;
  f.run(1, 50, false, true);
  EXPECT_EQ(f.meter.generation(), 0u);
}

TEST(PathMeter, a_full_window_may_raise_the_rate_but_not_lower_it) {
  Feed f;
  f.run(40, 50, true, false);
  EXPECT_DOUBLE_EQ(f.gbps(), 100);
  f.run(160, 50, true, false);
  EXPECT_NEAR(f.gbps(), 160, 2);
}

TEST(PathMeter, one_sack_without_backlog_or_cut_spoils_its_sample) {
  Feed f;
  for (int i = 0; i < 40; ++i) {  // spans of 4 ms, each with one SACK that does not count
    f.run(40, 3, true, true);
    f.run(40, 1, i % 2 == 0, i % 2 == 1);
  }
  EXPECT_EQ(f.meter.generation(), 0u);
}

TEST(PathMeter, a_silence_spoils_a_sample) {
  Feed f;
  for (int i = 0; i < 40; ++i) {
    f.run(40, 3, true, true);
    f.now = f.now + Duration::milliseconds(3);
  }
  EXPECT_EQ(f.meter.generation(), 0u);
}

TEST(PathMeter, a_lost_plane_is_noticed_within_two_seconds_and_a_dip_is_not) {
  Feed f;
  f.run(40, 2000, true, true);
  f.run(30, 500, true, true);
  EXPECT_NEAR(f.gbps(), 40, 0.5);
  f.run(30, 2000, true, true);
  EXPECT_NEAR(f.gbps(), 30, 0.5);
  f.run(40, 20, true, true);
  EXPECT_NEAR(f.gbps(), 40, 0.5);
}

// Else a first window that was cut for some milliseconds would become the next, smaller one.
TEST(PathMeter, a_sample_of_a_full_window_is_a_lower_limit_of_the_rate_for_two_seconds) {
  Feed f;
  f.run(40, 50, true, false);
  f.run(1, 20, true, true);
  EXPECT_NEAR(f.gbps(), 40, 0.5);
  f.run(1, 2500, true, true);
  EXPECT_NEAR(f.gbps(), 1, 0.1);
}

TEST(PathMeter, changes_that_do_not_matter_move_nothing) {
  Feed f;
  f.run(40, 50, true, true);
  const uint32_t before = f.meter.generation();
  f.run(44, 50, true, true);
  EXPECT_EQ(f.meter.generation(), before);
  f.run(46, 50, true, true);
  EXPECT_NE(f.meter.generation(), before);
}

TEST(PathMeter, the_round_trip_falls_to_the_least_seen) {
  Feed f;
  f.round_trip(45);  // within an eighth
  EXPECT_EQ(f.meter.rtt(), kAssumedRtt);
  f.round_trip(20);
  EXPECT_EQ(f.meter.rtt(), Duration::microseconds(20));
  f.round_trip(30);
  EXPECT_EQ(f.meter.rtt(), Duration::microseconds(20));
}

TEST(PathMeter, the_round_trip_rises_only_when_every_one_of_many_was_longer) {
  Feed f;
  for (int i = 0; i < 255; ++i) f.round_trip(900 - i, 100);
  EXPECT_EQ(f.meter.rtt(), kAssumedRtt);
  f.round_trip(700);
  EXPECT_EQ(f.meter.rtt(), Duration::microseconds(646));
  Feed g;
  for (int i = 0; i < 1000; ++i) g.round_trip(i == 100 ? 48 : 700, 100);
  EXPECT_EQ(g.meter.rtt(), kAssumedRtt);
}

// Many QPs that begin together: all these samples have passed through one queue.
TEST(PathMeter, the_round_trip_rises_after_sixteen) {
  Feed f;
  for (int i = 0; i < 1000; ++i) f.round_trip(1000);
  f.now = f.now + Duration::nanoseconds(15'999'999);
  f.round_trip(1000);
  EXPECT_EQ(f.meter.rtt(), kAssumedRtt);
  f.now = f.now + Duration::nanoseconds(1);
  f.round_trip(1000);
  EXPECT_EQ(f.meter.rtt(), Duration::microseconds(1000));
}

// As while a receiver has no place for what it is sent.
TEST(PathMeter, sacks_that_report_nothing_new_are_no_sample) {
  Feed f;
  f.run(0, 50, true, true);
  f.meter.check();
  EXPECT_EQ(f.meter.generation(), 0u);
  f.run(40, 20, true, true);
  EXPECT_NEAR(f.gbps(), 40, 0.5);
}

}  // namespace
}  // namespace mrc::core
