// The rules that move the window, by hand-checked numbers and from both sides of each threshold [MRC-NSCC-19..25].
#include "nscc_fixture.h"

namespace mrc::core {
namespace {

using namespace nscc_test;

using NsccWindow = NsccTest;

// ---------------------------------------------------------------- quadrants

TEST_F(NsccWindow, proportional_one_ack_and_nine) {
  ack(3000);
  EXPECT_EQ(s().inc_bytes, 46148266);
  for (int i = 0; i < 7; ++i) ack(3000);
  EXPECT_EQ(nscc.cwnd(), 300000);  // 33,280 bytes are not above the threshold
  EXPECT_EQ(s().received_bytes, 33280);
  ack(3000);
  EXPECT_EQ(nscc.cwnd(), 301384);
  EXPECT_EQ(s().inc_bytes, 0);
  EXPECT_EQ(s().received_bytes, 0);
}

TEST_F(NsccWindow, fair_nine_acks) {
  for (int i = 0; i < 9; ++i) ack(kT);
  EXPECT_EQ(nscc.cwnd(), 306922);
}

TEST_F(NsccWindow, fair_one_ack_exactly_r_after_the_last_batch) {
  ack(kT, false, kPacket, kNow + kR - 1);
  EXPECT_EQ(nscc.cwnd(), 300000);
  s().inc_bytes = 0;
  ack(kT, false, kPacket, kNow + kR);
  EXPECT_EQ(nscc.cwnd(), 302433);
  EXPECT_EQ(s().last_adjust_time, kNow + kR);
}

TEST_F(NsccWindow, batch_due_by_bytes_has_no_eta_and_leaves_its_time) {
  ack(kT, false, 33281);
  EXPECT_TRUE(did(kStepFulfil));
  EXPECT_FALSE(did(kStepEta));
  EXPECT_EQ(s().last_adjust_time, kNow);
}

TEST_F(NsccWindow, quadrant_borders) {
  ack(kT - 1);
  EXPECT_TRUE(did(kStepProportional));
  ack(kT);
  EXPECT_TRUE(did(kStepFair));
  ack(kT - 1, true);
  EXPECT_TRUE(did(kStepNoOp));
  EXPECT_FALSE(did(kStepDecreaseAsked));
  ack(kT, true);
  EXPECT_TRUE(did(kStepDecreaseAsked));
}

TEST_F(NsccWindow, batch_is_capped_at_max_wnd) {
  s().cwnd = 599999;
  ack(kT, false, 33281);
  EXPECT_EQ(nscc.cwnd(), 600000);
}

// ---------------------------------------------------------------- decrease

class NsccDecrease : public NsccTest, public ::testing::WithParamInterface<std::pair<double, int64_t>> {};

TEST_P(NsccDecrease, kept_fraction_by_the_average) {
  s().avg_delay = GetParam().first;
  s().last_avg_time = kNow;  // this sample has no weight
  s().last_dec_time = kNow - kR - 1;
  ack(kT, true);
  EXPECT_EQ(nscc.cwnd(), GetParam().second);
  // An average of just T is no reason, and the time of the last decrease stays.
  EXPECT_EQ(s().last_dec_time == kNow, GetParam().second != 300000);
}

INSTANTIATE_TEST_SUITE_P(Averages, NsccDecrease,
                         ::testing::Values(std::make_pair(9000.0, 220000), std::make_pair(12000.0, 180000),
                                           std::make_pair(16000.0, 150000), std::make_pair(60000.0, 150000),
                                           std::make_pair(6000.0, 300000), std::make_pair(6001.0, 299960)));

TEST_F(NsccWindow, decrease_once_per_base_rtt) {
  s().avg_delay = 12000;
  s().last_avg_time = kNow;
  s().last_dec_time = kNow - kR;
  s().increase_mode = true;
  s().fi_count = 5;
  ack(kT, true);
  EXPECT_EQ(nscc.cwnd(), 300000);
  EXPECT_FALSE(did(kStepDecreaseCut));
  EXPECT_FALSE(s().increase_mode);  // asked for is enough to end the fast increase
  EXPECT_EQ(s().fi_count, 0);
  s().last_dec_time = kNow - kR - 1;
  ack(kT, true);
  EXPECT_EQ(nscc.cwnd(), 180000);
  EXPECT_EQ(s().last_dec_time, kNow);
  s().cwnd = 5000;
  s().last_dec_time = 0;
  ack(kT, true);
  EXPECT_EQ(nscc.cwnd(), kPacket);
}

// ---------------------------------------------------------------- fast increase

TEST_F(NsccWindow, fast_increase_from_the_fifth_ack) {
  s().cwnd = 20000;
  for (int i = 0; i < 4; ++i) {
    ack(500);
    EXPECT_TRUE(did(kStepProportional));
  }
  EXPECT_EQ(nscc.cwnd(), 20000);
  ack(500);
  EXPECT_EQ(nscc.cwnd(), 22773);
  EXPECT_TRUE(did(kStepFast));
  EXPECT_FALSE(did(kStepProportional));
  ack(500);
  EXPECT_EQ(nscc.cwnd(), 25546);
}

TEST_F(NsccWindow, fast_increase_needs_more_than_a_window) {
  s().fi_count = 300000 - kPacket;
  ack(0);
  EXPECT_FALSE(did(kStepFast));  // exactly a window
  ack(0, false, 1);
  EXPECT_TRUE(did(kStepFast));
}

// [MRC-NSCC-CHOICE-2]
TEST_F(NsccWindow, near_zero_is_one_microsecond_or_a_ninth_of_the_target) {
  s().increase_mode = true;
  ack(999);
  EXPECT_TRUE(did(kStepFast));
  ack(1000);
  EXPECT_FALSE(did(kStepFast));
  EXPECT_FALSE(s().increase_mode);
  EXPECT_EQ(s().fi_count, 0);

  NsccConfig c = config();
  c.target_delay = nanos(90000);
  Nscc slow(c, at(kNow));
  NsccTestPeer::state(slow).increase_mode = true;
  slow.ack_ticks(kNow, 10, kR + 9999, false, true);
  EXPECT_EQ(slow.last_branches() & kStepFast, kStepFast);
  slow.ack_ticks(kNow, 10, kR + 10000, false, true);
  EXPECT_EQ(slow.last_branches() & kStepFast, 0);
}

TEST_F(NsccWindow, fast_mode_survives_fair_and_no_op_and_is_capped) {
  s().increase_mode = true;
  s().fi_count = 7;
  ack(kT);
  ack(kT - 1, true);
  EXPECT_TRUE(s().increase_mode);
  EXPECT_EQ(s().fi_count, 7);
  s().cwnd = 599999;
  ack(0);
  EXPECT_EQ(nscc.cwnd(), 600000);
}

TEST_F(NsccWindow, increments_from_before_fast_mode_are_still_applied) {
  ack(kT);
  const int64_t left = s().inc_bytes;
  s().increase_mode = true;
  ack(0);
  EXPECT_EQ(s().inc_bytes, left);
}

// ---------------------------------------------------------------- average

// [MRC-NSCC-CHOICE-3]
TEST_F(NsccWindow, average_is_weighted_by_time) {
  ack(4000, false, 0, kNow + kR / 4);
  EXPECT_EQ(nscc.avg_delay().ns(), 1000);
  ack(9000, false, 0, kNow + kR / 4);  // no time has passed
  EXPECT_EQ(nscc.avg_delay().ns(), 1000);
  ack(5000, false, 0, kNow + kR / 4 + kR / 2);
  EXPECT_EQ(nscc.avg_delay().ns(), 3000);
  ack(7000, false, 0, kNow + 100 * kR);  // all of it is new
  EXPECT_EQ(nscc.avg_delay().ns(), 7000);
}

// ---------------------------------------------------------------- quick adapt

class NsccQuickAdapt : public NsccTest {
 protected:
  NsccQuickAdapt() {
    s().qa_endtime = kNow;
    s().achieved_bytes = 50000;
    s().inflight = 250000 + kPacket;
  }
  void trim(int64_t now = kNow) { nscc.on_nack(at(now), kPacket, std::nullopt, true); }
};

TEST_F(NsccQuickAdapt, fires_below_the_gate) {
  trim();
  EXPECT_EQ(nscc.cwnd(), 50000);
  EXPECT_EQ(s().bytes_to_ignore, 250000);
  EXPECT_EQ(s().bytes_ignored, 0);
  EXPECT_EQ(s().achieved_bytes, 0);
  EXPECT_FALSE(s().trigger_qa);
  EXPECT_EQ(s().qa_endtime, kNow + kR + kT);
}

TEST_F(NsccQuickAdapt, does_not_fire_above_the_gate) {
  s().achieved_bytes = 80000;
  trim();
  EXPECT_EQ(nscc.cwnd(), 295840);
  EXPECT_TRUE(s().trigger_qa);
  EXPECT_EQ(s().achieved_bytes, 0);
}

TEST_F(NsccQuickAdapt, gate_border) {
  s().achieved_bytes = 75000;
  trim();
  EXPECT_FALSE(did(kStepQuickAdapt));
  s().qa_endtime = kNow;
  s().window_limited = true;
  s().achieved_bytes = 74999;
  trim();
  EXPECT_TRUE(did(kStepQuickAdapt));
}

TEST_F(NsccQuickAdapt, only_at_the_end_of_a_period) {
  trim(kNow - 1);
  EXPECT_TRUE(did(kStepTrimCut));
  EXPECT_EQ(s().achieved_bytes, 50000);
  trim(kNow);
  EXPECT_TRUE(did(kStepQuickAdapt));
}

TEST_F(NsccQuickAdapt, first_event_only_opens_the_period) {
  s().qa_endtime = 0;
  trim();
  EXPECT_FALSE(did(kStepQuickAdapt));
  EXPECT_EQ(s().qa_endtime, kNow + kR + kT);
}

TEST_F(NsccQuickAdapt, an_ack_needs_a_trigger_or_a_delay_above_the_threshold) {
  ack(100000, false);  // with trimming the threshold is never reached
  EXPECT_FALSE(did(kStepQuickAdapt));
  s().qa_endtime = kNow;
  s().achieved_bytes = 0;
  s().window_limited = true;
  s().trigger_qa = true;
  ack(0, false, kPacket);
  EXPECT_TRUE(did(kStepQuickAdapt));
  EXPECT_EQ(nscc.cwnd(), kPacket);
  EXPECT_EQ(s().received_bytes, 0);
}

TEST(nscc, quick_adapt_threshold_without_trimming) {
  NsccConfig c = config();
  c.trimming = false;
  for (const int64_t over : {0, 1}) {
    Nscc n(c, at(kNow));
    NsccTestPeer::state(n).qa_endtime = kNow;
    NsccTestPeer::state(n).window_limited = true;
    n.ack_ticks(kNow, kPacket, kR + 4 * kR + over, false, true);
    EXPECT_EQ((n.last_branches() & kStepQuickAdapt) != 0, over == 1);
  }
}

TEST_F(NsccQuickAdapt, marked_events_are_ignored_until_that_much_has_arrived) {
  trim();
  s().bytes_to_ignore = 3 * kPacket;
  ack(2 * kT, true);
  EXPECT_EQ(nscc.last_branches(), kStepIgnored);
  ack(3000, false);  // unmarked ones are not
  EXPECT_TRUE(did(kStepProportional));
  trim();  // the third packet
  EXPECT_FALSE(did(kStepIgnored));
  EXPECT_EQ(nscc.cwnd(), 50000 - kPacket);
}

TEST_F(NsccQuickAdapt, ignored_event_clears_the_batch) {
  s().bytes_to_ignore = 100000;
  s().inc_bytes = 5;
  s().received_bytes = 5;
  trim();
  EXPECT_TRUE(did(kStepIgnored));
  EXPECT_EQ(nscc.cwnd(), 300000);
  EXPECT_EQ(s().inc_bytes, 0);
  EXPECT_EQ(s().received_bytes, 0);
}

TEST_F(NsccQuickAdapt, not_below_one_mtu_and_negative_inflight_ignores_nothing) {
  s().achieved_bytes = 1;
  s().inflight = 0;
  trim();
  EXPECT_EQ(nscc.cwnd(), kPacket);
  EXPECT_EQ(s().bytes_to_ignore, 0);
}

TEST(nscc, disabled_quick_adapt_never_acts) {
  NsccConfig c = config();
  c.disable_qa = true;
  Nscc n(c, at(kNow));
  NsccTestPeer::state(n).qa_endtime = kNow;
  NsccTestPeer::state(n).window_limited = true;
  NsccTestPeer::state(n).bytes_to_ignore = 1000000;
  n.on_nack(at(kNow), kPacket, std::nullopt, true);
  EXPECT_EQ(n.last_branches(), kStepTrimCut);
}

}  // namespace
}  // namespace mrc::core
