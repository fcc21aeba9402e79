// Each known trap of the algorithm as a test [MRC-NSCC-CHOICE-1, spec/nscc.md "Traps"].
#include "nscc-replay/htsim_nscc.h"
#include "nscc_fixture.h"

namespace mrc::core {
namespace {

using namespace nscc_test;
using NsccTraps = NsccTest;

// One old trim, then single-packet messages with long pauses: nothing is lost any more.
int64_t window_after_pauses(bool sticky) {
  NsccConfig c = config();
  c.sticky_qa_trigger = sticky;
  Nscc n(c, at(kNow));
  n.on_send(kPacket);
  n.on_nack(at(kNow), kPacket, std::nullopt, true);
  int64_t now = kNow;
  uint32_t units = 0;
  for (int message = 0; message < 3; ++message) {
    now += 500000;
    n.on_send(kPacket);
    units += 17;
    n.on_ack(at(now), units, nanos(kR), false, 0, false);
  }
  return n.cwnd();
}

TEST(nscc, trap_1_latched_trigger_collapses_an_application_limited_qp_only_by_the_text) {
  EXPECT_LT(window_after_pauses(true), 40000);
  EXPECT_GE(window_after_pauses(false), 600000 - kPacket);
}

TEST_F(NsccTraps, trap_1_a_period_that_passes_the_gate_clears_an_older_trigger) {
  s().trigger_qa = true;
  s().qa_endtime = kNow;
  s().achieved_bytes = 75000;
  ack(3000);
  EXPECT_FALSE(s().trigger_qa);
}

TEST_F(NsccTraps, trap_1_a_period_below_the_gate_still_fires_when_the_window_was_full) {
  s().trigger_qa = true;
  s().qa_endtime = kNow;
  s().window_limited = false;
  s().inflight = 300000 - kPacket;  // one more MTU fits
  ack(3000);
  EXPECT_FALSE(did(kStepQuickAdapt));
  EXPECT_FALSE(s().trigger_qa);
  s().trigger_qa = true;
  s().qa_endtime = kNow;
  s().achieved_bytes = 0;
  s().inflight = 300000 - 2 * kPacket;
  nscc.on_send(kPacket + 1);  // none fits: the window was full in this period
  s().inflight = 0;
  ack(3000);
  EXPECT_TRUE(did(kStepQuickAdapt));
}

TEST_F(NsccTraps, trap_1_each_period_shows_anew_that_the_window_was_full) {
  s().qa_endtime = kNow;
  ack(3000);  // the full window of the period that ends here does not count for the next
  EXPECT_FALSE(s().window_limited);
  s().qa_endtime = kNow;
  s().inflight = 300000;
  s().achieved_bytes = 100000;
  ack(3000);  // full at the start counts
  s().inflight = 0;
  s().trigger_qa = true;
  s().qa_endtime = kNow;
  ack(3000);
  EXPECT_TRUE(did(kStepQuickAdapt));
}

TEST(nscc, trap_1_by_the_text_the_trigger_stays_through_a_good_period) {
  NsccConfig c = config();
  c.sticky_qa_trigger = true;
  Nscc n(c, at(kNow));
  NsccState& s = NsccTestPeer::state(n);
  s.trigger_qa = true;
  s.qa_endtime = kNow;
  s.achieved_bytes = 80000;
  n.ack_ticks(kNow, kPacket, kR, false, true);
  EXPECT_TRUE(s.trigger_qa);
}

TEST(nscc, trap_2_startup_is_the_whole_window) {
  Nscc n(config(), at(kNow));
  int packets = 0;
  for (; n.can_send(kPacket); ++packets) n.on_send(kPacket);
  EXPECT_EQ(packets, 600000 / 4160);
}

TEST_F(NsccTraps, trap_3_window_above_a_shrunken_maximum_until_the_next_batch) {
  s().cwnd = 600000;
  nscc.ack_ticks(kNow, 0, 6000, false, true);
  EXPECT_EQ(nscc.cwnd(), 600000);
  EXPECT_EQ(nscc.max_wnd(), 450000);
  ack(kT - 1, true, kPacket, kNow + kR);
  EXPECT_EQ(nscc.cwnd(), 450000);
}

TEST_F(NsccTraps, trap_4_eta_runs_in_the_no_op_quadrant) {
  for (int i = 1; i <= 3; ++i) ack(100, true, kPacket, kNow + i * kR);
  EXPECT_EQ(nscc.cwnd(), 300000 + 3 * 1664);
}

TEST_F(NsccTraps, trap_5_an_increment_below_the_window_is_thrown_away) {
  s().inc_bytes = 299999;
  ack(kT - 1, true, 33281);
  EXPECT_EQ(nscc.cwnd(), 300000);
  EXPECT_EQ(s().inc_bytes, 0);
  s().inc_bytes = 300000;
  ack(kT - 1, true, 33281);
  EXPECT_EQ(nscc.cwnd(), 300001);
}

TEST_F(NsccTraps, trap_6_acks_out_of_order_count_bytes_once) {
  for (int i = 0; i < 4; ++i) nscc.on_send(4096);
  for (const uint32_t units : {32u, 16u, 64u, 48u}) nscc.on_ack(at(kNow), units, nanos(kR), false, 0, false);
  EXPECT_EQ(s().achieved_bytes, 4 * 4096 - 32 * 256);  // the first ACK opened the quick-adapt period
  EXPECT_EQ(s().bytes_ignored, 4 * 4096);
  EXPECT_EQ(nscc.inflight(), 0);
}

TEST_F(NsccTraps, trap_7_base_rtt_falls_only_by_samples_that_may_lower_it_and_never_rises) {
  nscc.on_ack(at(kNow), 0, nanos(2000), false, 0, false, false);
  EXPECT_EQ(nscc.base_rtt().ns(), kR);
  nscc.on_ack(at(kNow), 0, nanos(7000), false, 0, false, true);
  nscc.on_ack(at(kNow), 0, nanos(9000), false, 0, false, true);
  EXPECT_EQ(nscc.base_rtt().ns(), 7000);
}

// [MRC-NSCC-CHOICE-5]
TEST(nscc, d1_increments_of_800_gbps_need_more_than_32_bits) {
  Nscc n(config(800, 12000), at(kNow));
  n.ack_ticks(kNow, 33280, 12000 + 9000, false, true);
  EXPECT_EQ(n.state().inc_bytes, int64_t{33280} * 166400);
  EXPECT_GT(n.state().inc_bytes, int64_t{UINT32_MAX});
}

// The simulator's differences that its recordings do not show.
class NsccHtsim : public ::testing::Test {
 protected:
  NsccHtsim() : nscc(config(), at(kNow)) {}
  NsccState& s() { return NsccTestPeer::state(nscc); }
  HtsimNscc nscc;
};

// [MRC-NSCC-2]
TEST_F(NsccHtsim, ticks_are_picoseconds_and_the_interface_is_not) {
  EXPECT_EQ(nscc.base_rtt().ns(), kR);
  EXPECT_EQ(nscc.target_delay().ns(), kT);
  EXPECT_EQ(s().base_rtt, kR * 1000);
  EXPECT_EQ(nscc.max_wnd(), 600000);
  EXPECT_EQ(s().last_adjust_time, 0);  // D11
}

TEST_F(NsccHtsim, d2_without_a_sample_the_average_decides) {
  s().avg_delay = 7e6;
  s().last_adjust_time = kNow * 1000;
  nscc.on_ack(at(kNow), 16, std::nullopt, false, 0, false);
  EXPECT_EQ(nscc.last_branches(), kStepNoSample | kStepFair);
}

TEST_F(NsccHtsim, d3_deadlines_are_strict) {
  nscc.ack_ticks(kR * 1000, 10, kR * 1000, false, true);
  EXPECT_EQ(nscc.last_branches() & kStepEta, 0);
  nscc.ack_ticks(kR * 1000 + 1, 10, kR * 1000, false, true);
  EXPECT_NE(nscc.last_branches() & kStepEta, 0);
}

TEST_F(NsccHtsim, d4_d5_d12_d13_nack_and_timeout) {
  s().qa_endtime = kNow;
  s().inflight = 250000;
  nscc.on_nack(at(kNow), kPacket, std::nullopt, false);  // any NACK is a trim
  EXPECT_EQ(s().bytes_to_ignore, 250000);                // before the packet is removed
  EXPECT_EQ(nscc.inflight(), 250000 - kPacket);
  nscc.on_loss(at(kNow), kPacket);
  EXPECT_EQ(s().bytes_ignored, 0);
  s().bytes_to_ignore = 0;
  s().qa_endtime = kNow;
  s().inflight = -1;
  nscc.on_nack(at(kNow), kPacket, std::nullopt, true);
  EXPECT_EQ(s().bytes_to_ignore, int64_t{UINT32_MAX});
}

TEST_F(NsccHtsim, window_is_clamped_before_an_acks_update_and_after) {
  s().cwnd = 800000;
  s().avg_delay = 1e9;
  s().last_adjust_time = kNow * 1000;
  nscc.on_ack(at(kNow), 0, nanos(kR + kT), true, 0, false);
  EXPECT_EQ(nscc.cwnd(), 300000);  // half of the maximum, not of what it was
}

TEST_F(NsccHtsim, d9_penalty_is_not_read) {
  nscc.on_ack(at(kNow), 0, nanos(kR), false, 100, false);
  EXPECT_EQ(nscc.cwnd(), 600000);
}

TEST_F(NsccHtsim, d7_gains_from_the_payload) {
  EXPECT_NEAR(NsccTestPeer::fi(nscc), 5 * 4096 * 400000.0 / 150000, 1e-6);
  EXPECT_EQ(NsccTestPeer::qa_threshold(nscc), 4 * kT * 1000);  // D6
}

}  // namespace
}  // namespace mrc::core
