// The condition for a slow connection, the reason in the log line, and the histogram of completion times.
#include "slow_watch.h"

#include <gtest/gtest.h>

#include "latency_histogram.h"

namespace mrc::nccl {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kStats =
    "qpn 17\ndest_qpn 4711\ncwnd 65536\ninflight 8192\nsrtt_ns 12000\nbase_rtt_ns 9000\noutstanding_packets 8\n"
    "tx_packets 1000\nrx_packets 900\nretransmits 20\ntimeouts 2\n"
    "retransmission_delay.count 20\nretransmission_delay.max_ns 70000\nretransmission_delay.le_40960 19\n"
    "retransmission_delay.le_81920 1\n"
    "ev.257 plane 1 state GOOD active 1 tx 600 loss 3 ecn 1\n"
    "ev.513 plane 2 state ASSUMED_BAD active 0 tx 400 loss 17 ecn 0\nunknown line\n";

TEST(QpSample, the_devices_text_is_understood) {
  const QpSample s = parse_qp_stats(kStats);
  EXPECT_EQ(s.qpn, 17u);
  EXPECT_EQ(s.dest_qpn, 4711u);
  EXPECT_EQ(s.cwnd, 65536);
  EXPECT_EQ(s.inflight, 8192);
  EXPECT_EQ(s.timeouts, 2u);
  EXPECT_EQ(s.acknowledged(), 1000u - 20 - 8);
  ASSERT_EQ(s.evs.size(), 2u);
  EXPECT_EQ(s.evs[1].ev, 513u);
  EXPECT_EQ(s.evs[1].plane, 2);
  EXPECT_EQ(s.evs[1].state, "ASSUMED_BAD");
  EXPECT_EQ(s.evs[1].losses, 17u);
  EXPECT_EQ(s.retransmission_delay_max, 70000u);
  ASSERT_EQ(s.retransmission_delays.size(), 2u);
  EXPECT_EQ(s.retransmission_delays[0].ns, 40960u);
  EXPECT_EQ(s.retransmission_delays[0].packets, 19u);
  EXPECT_EQ(parse_qp_stats("").evs.size(), 0u);
}

// The receiver counts in units of 256 bytes, so less than nothing may be under way: that is no full window.
TEST(QpSample, bytes_in_flight_may_be_below_zero) {
  const QpSample s = parse_qp_stats("cwnd 65536\ninflight -216\ntx_packets 10\n");
  EXPECT_EQ(s.inflight, -216);
  EXPECT_EQ(s.tx, 10u);
  QpSample later = s;
  later.tx = 20;
  EXPECT_EQ(reason_of(s, later, 1.0).rfind("rate:", 0), 0u) << reason_of(s, later, 1.0);
  EXPECT_EQ(parse_qp_stats("inflight 0\n").inflight, 0);
}

class SlowWatchTest : public testing::Test {
 protected:
  std::string look(milliseconds at, bool under_way = true) {
    return watch_.look(begin_ + at, under_way ? std::optional(begin_) : std::nullopt, "192.0.2.7:5000", [this] {
      ++samples_;
      return now_;
    });
  }

  const SlowWatch::Clock::time_point begin_ = SlowWatch::Clock::time_point(seconds(1000));
  QpSample now_ = parse_qp_stats(kStats);
  SlowWatch watch_;
  int samples_ = 0;
};

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_F(SlowWatchTest, one_line_when_it_begins_one_every_ten_seconds_one_when_it_is_over) {
  EXPECT_EQ(look(milliseconds(499)), "");
  EXPECT_EQ(samples_, 0);
  EXPECT_EQ(look(milliseconds(500)), "");
  EXPECT_EQ(samples_, 1);
  EXPECT_EQ(look(milliseconds(999)), "");
  const std::string first = look(milliseconds(1000));
  EXPECT_TRUE(has(first, "Slow connection with 192.0.2.7:5000: QP 17 to QP 4711")) << first;
  EXPECT_EQ(samples_, 2);
  EXPECT_EQ(look(milliseconds(10999)), "");
  EXPECT_EQ(samples_, 2);
  const std::string again = look(milliseconds(11000));
  EXPECT_TRUE(has(again, "Still slow connection")) << again;
  EXPECT_EQ(look(milliseconds(20999)), "");
  const std::string over = look(milliseconds(21000), false);
  EXPECT_TRUE(has(over, "no longer slow")) << over;
  EXPECT_EQ(look(milliseconds(22000), false), "");
}

TEST_F(SlowWatchTest, a_finding_after_a_pause_of_the_process_is_checked_again) {
  EXPECT_EQ(look(seconds(6)), "");
  EXPECT_EQ(look(milliseconds(6499)), "");
  EXPECT_NE(look(milliseconds(6500)), "");
}

TEST_F(SlowWatchTest, nothing_under_way_on_the_network_is_not_slow_and_asked_for_once) {
  now_.outstanding = 0;
  for (int ms = 0; ms < 5000; ms += 100) EXPECT_EQ(look(milliseconds(ms)), "");
  EXPECT_EQ(samples_, 1);
}

TEST_F(SlowWatchTest, another_queue_pair_is_not_compared) {
  EXPECT_EQ(look(milliseconds(500)), "");
  now_.qpn = 18;
  EXPECT_EQ(look(milliseconds(1000)), "");
  EXPECT_NE(look(milliseconds(1500)), "");
}

TEST(SlowReason, silence_names_the_path_that_lost_most) {
  const QpSample before = parse_qp_stats(kStats);
  QpSample after = before;
  after.tx += 10;
  after.retransmits += 10;
  after.evs[0].losses += 4;
  after.evs[1].losses += 6;
  const std::string text = reason_of(before, after, 0.5);
  EXPECT_TRUE(has(text, "silence: 8 packets")) << text;
  EXPECT_TRUE(has(text, "plane 2, EV 513 (ASSUMED_BAD, 6 packets)")) << text;
  EXPECT_TRUE(has(text, "no good path on plane 2")) << text;
}

TEST(SlowReason, loss_from_two_in_a_hundred_on) {
  const QpSample before = parse_qp_stats(kStats);
  QpSample after = before;
  after.tx += 1000;
  after.retransmits += 20;
  EXPECT_TRUE(has(reason_of(before, after, 1), "loss: of 1000 packets in 1.0 s 20"));
  after.retransmits -= 1;
  EXPECT_FALSE(has(reason_of(before, after, 1), "loss:"));
}

TEST(SlowReason, congestion_by_marks_or_by_a_full_window) {
  const QpSample before = parse_qp_stats(kStats);
  QpSample after = before;
  after.tx += 1000;
  EXPECT_TRUE(has(reason_of(before, after, 1), "rate: 1000 packets"));
  after.evs[0].marks += 1;
  const std::string marked = reason_of(before, after, 1);
  EXPECT_TRUE(has(marked, "congestion:") && has(marked, "plane 1, EV 257")) << marked;
  after.evs[0].marks -= 1;
  after.inflight = after.cwnd;
  EXPECT_TRUE(has(reason_of(before, after, 1), "congestion:"));
}

TEST(LatencyHistogram, quantiles_are_at_most_an_eighth_too_large) {
  LatencyHistogram h;
  EXPECT_EQ(h.quantile(0.5), 0u);
  for (uint64_t i = 1; i <= 1000; ++i) h.record(i * 1000);
  EXPECT_EQ(h.count(), 1000u);
  EXPECT_EQ(h.max(), 1000000u);
  for (const double share : {0.01, 0.5, 0.9, 0.99}) {
    const double exact = share * 1e6;
    EXPECT_GE(static_cast<double>(h.quantile(share)), exact) << share;
    EXPECT_LE(static_cast<double>(h.quantile(share)), exact * 1.125) << share;
  }
  EXPECT_EQ(h.quantile(1), 1000000u);
}

TEST(LatencyHistogram, takes_the_counts_of_another_one) {
  LatencyHistogram h;
  h.record(1000, 99);
  h.record(50000, 1);
  EXPECT_EQ(h.count(), 100u);
  EXPECT_LT(h.quantile(0.99), 1200u);
  EXPECT_EQ(h.quantile(1), 50000u);
}

// 40960 ns is the end of a bucket of the device, and the first time of one of the histogram.
TEST(QpSample, quantiles_of_delays_are_at_most_a_quarter_too_large) {
  LatencyHistogram h;
  parse_qp_stats(kStats).add_delays(&h);
  EXPECT_EQ(h.count(), 20u);
  EXPECT_EQ(h.quantile(0.5), 40959u);
  EXPECT_EQ(h.quantile(1), 70000u);
  LatencyHistogram of_one;
  parse_qp_stats("retransmission_delay.max_ns 40960\nretransmission_delay.le_40960 1\n").add_delays(&of_one);
  EXPECT_LE(of_one.quantile(1), 40960u);
}

TEST(LatencyHistogram, holds_what_is_very_short_or_very_long) {
  LatencyHistogram h;
  for (const uint64_t ns : {uint64_t{0}, uint64_t{7}, uint64_t{8}, UINT64_MAX}) h.record(ns);
  EXPECT_EQ(h.quantile(0.25), 0u);
  EXPECT_EQ(h.quantile(0.5), 7u);
  EXPECT_EQ(h.quantile(0.75), 8u);
  EXPECT_EQ(h.max(), UINT64_MAX);
}

}  // namespace

}  // namespace mrc::nccl
