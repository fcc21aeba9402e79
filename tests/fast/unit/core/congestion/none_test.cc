// Without congestion control nothing limits the window, and bytes in flight are counted all the same [MRC-CC-14].
#include <gtest/gtest.h>

#include "core/congestion/registry.h"

namespace mrc::core {
namespace {

TEST(no_congestion_control, counts_but_never_limits) {
  CongestionConfig c;
  c.algorithm = find_congestion_algorithm("none");
  c.line_rate_bps = 400e9;
  c.base_rtt = Duration::microseconds(8);
  CongestionFlow flow;
  flow.trimming = true;
  const auto n = make_congestion_control(c, flow, Instant());
  for (int i = 0; i < 1000; ++i) n->on_sent(4160);
  EXPECT_TRUE(n->can_send(4160));
  EXPECT_FALSE(n->requests_ack(4160));
  NackSample nack;
  nack.nominal = 4160;
  nack.trimmed = true;
  n->on_nack(Instant(), nack);
  n->on_loss(Instant(), 4160, LossCause::kTimedOut);
  AckSample ack;
  ack.rcvd_bytes_24 = 16;
  ack.rtt = Duration::microseconds(90);
  ack.ecn_marked = true;
  ack.rcv_cwnd_pen = 127;
  n->on_ack(Instant(), ack);
  EXPECT_EQ(n->snapshot().inflight, 998 * 4160 - 4096);
  EXPECT_EQ(n->snapshot().cwnd, 600000);
  n->on_lost_packet_acked(4160);
  EXPECT_EQ(n->snapshot().inflight, 999 * 4160 - 4096);
}

TEST(no_congestion_control, reports_what_was_measured) {
  CongestionConfig c;
  c.algorithm = find_congestion_algorithm("none");
  const auto n = make_congestion_control(c, {}, Instant());
  n->on_measured(200e9, Duration::microseconds(20));
  EXPECT_EQ(n->snapshot().base_rtt, Duration::microseconds(20));
  EXPECT_EQ(n->snapshot().cwnd, 750000);
  n->on_measured(400e9, Duration());  // the round trip stays
  EXPECT_EQ(n->snapshot().base_rtt, Duration::microseconds(20));
  EXPECT_EQ(n->snapshot().cwnd, n->snapshot().max_wnd);
}

}  // namespace
}  // namespace mrc::core
