// Swift by events alone [MRC-CC-20..27]. 80 Gb/s, base RTT 10 us and packets of 1000 bytes: a BDP of 100 packets, a
// path target of 15 us (four hops of a base RTT / 8), and so a largest window of 150 packets.
#include "core/congestion/swift.h"

#include <gtest/gtest.h>

#include "core/congestion/registry.h"

namespace mrc::core {
namespace {

constexpr uint32_t kSize = 1000;
constexpr int64_t kBase = 10000;  // ns
constexpr int64_t kPathTarget = 15000;

Duration nanos(int64_t ns) {
  return Duration::nanoseconds(ns);
}

class SwiftTest : public testing::Test {
 protected:
  SwiftTest() {
    config.line_rate_bps = 80e9;
    config.base_rtt = nanos(kBase);
    flow.mtu = kSize;
    flow.ack_bytes = 16 * kSize;
  }
  void make() { swift = std::make_unique<Swift>(config, flow, now); }
  void start(int64_t packets) {  // with that window, reached by a decrease long ago
    make();
    while (swift->packets() > static_cast<double>(packets)) {
      penalty = 127;
      swift->on_sent(kSize);
      ack(1, kBase);
    }
    penalty = 0;
    wait(1000000);
  }
  void wait(int64_t ns) { now = now + nanos(ns); }
  // An ACK of so many packets; `rtt` in ns.
  void ack(int64_t packets, std::optional<int64_t> rtt, bool marked = false) {
    // The count goes in units of 256 bytes: what has been acknowledged is kept exactly.
    rcvd_ += packets * kSize;
    AckSample s;
    s.rcvd_bytes_24 = static_cast<uint32_t>(rcvd_ / 256) & 0xFFFFFF;
    if (rtt) s.rtt = nanos(*rtt);
    s.ecn_marked = marked;
    s.rcv_cwnd_pen = penalty;
    s.may_lower_base = may_lower_base;
    swift->on_ack(now, s);
  }
  void trim(bool trimmed = true) { swift->on_nack(now, {kSize, std::nullopt, trimmed, false}); }
  double packets() const { return swift->packets(); }
  uint16_t steps() const { return swift->snapshot().steps; }

  CongestionConfig config;
  CongestionFlow flow;
  Instant now = Instant::from_ns(1000000000);
  std::unique_ptr<Swift> swift;
  uint8_t penalty = 0;
  bool may_lower_base = true;

 private:
  int64_t rcvd_ = 0;
};

// ---------------------------------------------------------------- target

// [MRC-CC-21]
TEST_F(SwiftTest, path_target_is_the_base_and_a_part_per_hop) {
  make();
  EXPECT_EQ(swift->target_delay(1000), nanos(kPathTarget));
  config.set("hops", 6);
  make();
  EXPECT_EQ(swift->target_delay(1000), nanos(kBase + 6 * kBase / 8));
  config.set("base_target", nanos(25000));
  config.set("hop_target", nanos(2000));
  make();
  EXPECT_EQ(swift->target_delay(1000), nanos(25000 + 6 * 2000));
  config.set("hops", 0);
  make();
  EXPECT_EQ(swift->target_delay(1000), nanos(25000));
}

// [MRC-CC-21]
TEST_F(SwiftTest, hosts_own_jitter_raises_the_part_of_the_hops) {
  config.host_jitter = nanos(4999);  // below four hops
  make();
  EXPECT_EQ(swift->target_delay(1000), nanos(kPathTarget));
  config.host_jitter = nanos(5001);
  make();
  EXPECT_EQ(swift->target_delay(1000), nanos(kPathTarget + 1));
}

// [MRC-CC-22]: nothing from fs_max_cwnd on, the whole range up to fs_min_cwnd, by 1/sqrt between.
TEST_F(SwiftTest, flow_scaling_between_its_two_windows) {
  make();
  EXPECT_EQ(swift->target_delay(100), nanos(kPathTarget));
  EXPECT_EQ(swift->target_delay(101), nanos(kPathTarget));
  EXPECT_GT(swift->target_delay(99), nanos(kPathTarget));
  const int64_t whole = 5 * kBase;
  EXPECT_NEAR(swift->target_delay(0.1).ns(), kPathTarget + whole, 1);
  EXPECT_NEAR(swift->target_delay(0.05).ns(), kPathTarget + whole, 1);
  EXPECT_LT(swift->target_delay(0.11), nanos(kPathTarget + whole - 1));
  const double at_25 = (1 / 5.0 - 1 / 10.0) / (1 / 0.31622777 - 1 / 10.0);
  EXPECT_NEAR(static_cast<double>(swift->target_delay(25).ns()), kPathTarget + at_25 * whole, 2);
}

TEST_F(SwiftTest, flow_scaling_by_hand_and_off) {
  config.set("fs_range", nanos(1000));
  config.set("fs_min_cwnd", 1);
  config.set("fs_max_cwnd", 4);
  make();
  EXPECT_EQ(swift->target_delay(1), nanos(kPathTarget + 1000));
  EXPECT_EQ(swift->target_delay(4), nanos(kPathTarget));
  config.set("fs_min_cwnd", 4);  // no window is between the two
  make();
  EXPECT_EQ(swift->target_delay(1), nanos(kPathTarget));
}

// ---------------------------------------------------------------- ACKs

// [MRC-CC-20]: ai packets per window of ACKs, below the target; one nanosecond decides.
TEST_F(SwiftTest, grows_below_the_target_and_falls_from_it_on) {
  start(50);
  const double before = packets();
  const int64_t target = swift->target_delay(before).ns();
  ack(5, target - 1);
  EXPECT_NEAR(packets() - before, 5 / before, 0.3 / before);  // the count is in units of 256 bytes
  EXPECT_EQ(steps(), kStepFair);
  const double grown = packets();
  ack(5, swift->target_delay(grown).ns());
  EXPECT_EQ(steps(), kStepDecreaseAsked | kStepDecreaseCut);
  EXPECT_LE(packets(), grown);
}

TEST_F(SwiftTest, a_window_of_acks_adds_ai) {
  config.set("ai", 2);
  start(40);
  const double before = packets();
  for (int i = 0; i < 40; ++i) ack(1, kBase);
  EXPECT_NEAR(packets() - before, 2, 0.1);
}

// [MRC-CC-23]: beta times the excess, at most max_mdf.
TEST_F(SwiftTest, decrease_is_sized_by_the_excess) {
  config.set("fs_range", nanos(1));
  start(100);
  double before = packets();
  ack(0, 2 * kPathTarget);  // half of the delay is excess: 1 - 0.8 / 2
  EXPECT_NEAR(packets() / before, 0.6, 0.001);
  wait(1000000);
  before = packets();
  ack(0, 8 * kPathTarget / 3);  // 1 - 0.8 * 5/8: exactly the largest decrease
  EXPECT_NEAR(packets() / before, 0.5, 0.001);
  wait(2000000);
  before = packets();
  ack(0, 100 * kPathTarget);
  EXPECT_NEAR(packets() / before, 0.5, 0.001);
}

// [MRC-CC-23]
TEST_F(SwiftTest, one_decrease_per_round_trip) {
  start(100);
  ack(0, 30000);
  const double once = packets();
  wait(29999);
  ack(0, 30000);
  EXPECT_EQ(packets(), once);
  EXPECT_EQ(steps(), kStepDecreaseAsked);
  trim();  // of whatever kind
  swift->on_loss(now, kSize, LossCause::kOvertaken);
  swift->on_loss(now, kSize, LossCause::kTimedOut);
  EXPECT_EQ(packets(), once);
  wait(1);
  ack(0, 30000);
  EXPECT_LT(packets(), once);
}

TEST_F(SwiftTest, marks_do_not_count) {
  start(50);
  const double before = packets();
  ack(5, kBase, true);
  EXPECT_GT(packets(), before);
}

TEST_F(SwiftTest, without_a_sample_only_the_count_moves) {
  start(50);
  const double before = packets();
  swift->on_sent(5 * kSize);
  const int64_t inflight = swift->snapshot().inflight;
  ack(5, std::nullopt);
  EXPECT_EQ(packets(), before);
  EXPECT_EQ(steps(), kStepNoSample);
  EXPECT_LT(swift->snapshot().inflight, inflight - 4 * kSize);
}

TEST_F(SwiftTest, a_lower_round_trip_lowers_base_and_target_unless_it_must_not) {
  make();
  may_lower_base = false;
  ack(1, 8000);
  EXPECT_EQ(swift->target_delay(1000), nanos(kPathTarget));
  may_lower_base = true;
  ack(1, 8000);
  EXPECT_EQ(swift->snapshot().base_rtt, nanos(8000));
  EXPECT_EQ(swift->target_delay(1000), nanos(12000));
  ack(1, 9000);  // and it does not rise again
  EXPECT_EQ(swift->snapshot().base_rtt, nanos(8000));
}

// ---------------------------------------------------------------- floor and ceiling

// [MRC-CC-24] [MRC-CC-13]
TEST_F(SwiftTest, starts_at_the_ceiling_and_stays_below) {
  make();
  EXPECT_EQ(swift->snapshot().cwnd, 150000);
  EXPECT_EQ(swift->snapshot().max_wnd, 150000);
  for (int i = 0; i < 1000; ++i) ack(1, kBase);
  EXPECT_EQ(swift->snapshot().cwnd, 150000);
  config.set("max_cwnd", 70000);
  make();
  EXPECT_EQ(swift->snapshot().cwnd, 70000);
}

// [MRC-CC-24] [MRC-CC-13]
TEST_F(SwiftTest, one_packet_is_the_floor) {
  start(2);
  for (int i = 0; i < 10; ++i) {
    wait(10000000);
    ack(0, 5000000);
  }
  EXPECT_EQ(swift->snapshot().cwnd, kSize);
  swift->on_sent(kSize);
  EXPECT_FALSE(swift->can_send(1));
  ack(2, std::nullopt);
  EXPECT_TRUE(swift->can_send(kSize));
}

// ---------------------------------------------------------------- losses

// [MRC-CC-25]
TEST_F(SwiftTest, a_loss_or_a_trim_takes_max_mdf) {
  for (int kind = 0; kind < 3; ++kind) {
    start(100);
    const double before = packets();
    if (kind == 0) trim();
    if (kind > 0) swift->on_loss(now, kSize, kind == 1 ? LossCause::kOvertaken : LossCause::kTimedOut);
    EXPECT_NEAR(packets() / before, 0.5, 1e-9) << kind;
    EXPECT_EQ(steps(), kind == 0 ? kStepTrimCut : kStepLossCut);
  }
}

TEST_F(SwiftTest, a_refused_packet_moves_no_window) {
  start(100);
  const double before = packets();
  trim(false);
  EXPECT_EQ(packets(), before);
}

// [MRC-CC-26]: the fifth timeout in a row, whatever was cut last; packets of one flight are one timeout.
TEST_F(SwiftTest, timeouts_in_a_row_end_at_one_packet) {
  config.set("max_mdf", 0.01);
  start(100);
  for (int i = 0; i < 4; ++i) {
    for (int packet = 0; packet < 10; ++packet) swift->on_loss(now, kSize, LossCause::kTimedOut);
    wait(kBase);
  }
  EXPECT_GT(packets(), 90);
  swift->on_loss(now, kSize, LossCause::kTimedOut);
  EXPECT_EQ(packets(), 1);
}

// [MRC-CC-26]
TEST_F(SwiftTest, an_ack_between_ends_the_row_of_timeouts) {
  config.set("max_mdf", 0.01);
  start(100);
  for (int i = 0; i < 20; ++i) {
    swift->on_loss(now, kSize, LossCause::kTimedOut);
    wait(kBase);
    if (i % 4 == 3) ack(1, kBase);
  }
  EXPECT_GT(packets(), 50);
}

// ---------------------------------------------------------------- the rest

// [MRC-CC-27]
TEST_F(SwiftTest, receiver_penalty_takes_its_share_and_blocks_the_increase) {
  start(100);
  const double before = packets();
  penalty = 64;
  ack(10, kBase);
  EXPECT_NEAR(before - packets(), 5, 0.3);
  penalty = 127;
  for (int i = 0; i < 1000; ++i) ack(10, kBase);
  EXPECT_EQ(packets(), 1);
}

// [MRC-CC-15]
TEST_F(SwiftTest, follows_what_was_measured) {
  make();
  swift->on_measured(160e9, nanos(20000));
  EXPECT_EQ(swift->snapshot().cwnd, 600000);  // at its largest before and after
  EXPECT_EQ(swift->target_delay(1000), nanos(30000));
  wait(1000000);
  trim();
  swift->on_measured(320e9, Duration());
  EXPECT_EQ(swift->snapshot().cwnd, 300000);
  EXPECT_EQ(swift->snapshot().max_wnd, 1200000);
  swift->on_measured(1e6, Duration());  // a low rate leaves room to be found wrong
  EXPECT_EQ(swift->snapshot().max_wnd, 4 * kSize);
}

TEST_F(SwiftTest, requests_an_ack_near_the_end_of_the_window_and_with_a_small_one) {
  make();
  swift->on_sent(148 * kSize);
  EXPECT_FALSE(swift->requests_ack(kSize));
  EXPECT_TRUE(swift->requests_ack(kSize + 1));
  start(15);
  EXPECT_TRUE(swift->requests_ack(kSize));
}

}  // namespace
}  // namespace mrc::core
