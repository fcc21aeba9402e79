// Accounting of bytes in flight, samples, penalty, sending [MRC-NSCC-10..18, 24].
#include "core/congestion/nscc.h"

#include "nscc_fixture.h"

namespace mrc::core {
namespace {

using namespace nscc_test;

// ---------------------------------------------------------------- bytes in flight

class NsccInflight : public NsccTest {
 protected:
  static constexpr uint32_t kSize = 4096;  // 16 units of 256
  void acked(uint32_t units) { nscc.on_ack(at(kNow), units, std::nullopt, false, 0, false); }
};

TEST_F(NsccInflight, an_ack_takes_off_the_bytes_that_were_sent) {
  nscc.on_send(kSize);
  EXPECT_EQ(nscc.inflight(), kSize);
  acked(16);
  EXPECT_EQ(nscc.inflight(), 0);
}

TEST_F(NsccInflight, trimmed_and_sent_again) {
  nscc.on_send(kSize);
  nscc.on_nack(at(kNow), kSize, std::nullopt, true);
  EXPECT_EQ(nscc.inflight(), 0);
  nscc.on_send(kSize);
  acked(16);
  EXPECT_EQ(nscc.inflight(), 0);
}

TEST_F(NsccInflight, timed_out_and_both_copies_arrive) {
  nscc.on_send(kSize);
  nscc.on_loss(at(kNow), kSize);
  nscc.on_send(kSize);
  acked(16);
  acked(16);  // the second copy is a duplicate, which the receiver does not count
  EXPECT_EQ(nscc.inflight(), 0);
}

TEST_F(NsccInflight, declared_lost_but_acked_before_it_was_sent_again) {
  nscc.on_send(kSize);
  nscc.on_loss(at(kNow), kSize);
  nscc.on_lost_packet_acked(kSize);
  acked(16);
  EXPECT_EQ(nscc.inflight(), 0);
}

TEST_F(NsccInflight, round_up_of_the_receiver_makes_it_negative_and_it_stays_signed) {
  nscc.on_send(4160);
  acked(17);  // 4352
  EXPECT_EQ(nscc.inflight(), -192);
  nscc.on_send(4160);
  acked(33);  // 8448: the round-up is of the sum
  EXPECT_EQ(nscc.inflight(), 8320 - 8448);
}

TEST_F(NsccInflight, older_ack_and_wrap_of_rcvd_bytes) {
  nscc.on_send(kSize);
  acked(16);
  acked(10);
  EXPECT_EQ(nscc.inflight(), 0);
  acked(16 + 0x800000);  // half the range ahead counts as behind
  EXPECT_EQ(nscc.inflight(), 0);
  acked(16 + 0x7FFFFF);
  EXPECT_EQ(nscc.inflight(), -int64_t{0x7FFFFF} * 256);
  s().inflight = 0;
  s().last_rcvd = 0xFFFFFE;
  acked(2);
  EXPECT_EQ(nscc.inflight(), -4 * 256);
  EXPECT_EQ(s().achieved_bytes, (16 + 0x7FFFFF + 4) * int64_t{256});
}

// ---------------------------------------------------------------- sending

TEST_F(NsccTest, can_send_up_to_the_window) {
  s().inflight = 300000 - kPacket;
  EXPECT_TRUE(nscc.can_send(kPacket));
  s().inflight += 1;
  EXPECT_FALSE(nscc.can_send(kPacket));
  EXPECT_TRUE(nscc.can_send(kPacket - 1));  // the actual size counts
  s().cwnd = 1;
  s().inflight = 1;
  EXPECT_FALSE(nscc.can_send(kPacket));
  s().inflight = 0;  // never stalls permanently
  EXPECT_TRUE(nscc.can_send(kPacket));
}

TEST_F(NsccTest, requests_ack_near_the_end_of_the_window_and_with_a_small_one) {
  s().inflight = 300000 - 2 * kPacket;
  EXPECT_FALSE(nscc.requests_ack(kPacket));  // exactly one MTU is left
  s().inflight += 1;
  EXPECT_TRUE(nscc.requests_ack(kPacket));
  s().inflight = 0;
  s().cwnd = 16384;
  EXPECT_FALSE(nscc.requests_ack(kPacket));
  s().cwnd = 16383;
  EXPECT_TRUE(nscc.requests_ack(kPacket));
}

// ---------------------------------------------------------------- samples

TEST_F(NsccTest, sample_lowers_base_rtt_and_max_wnd_but_not_cwnd) {
  s().cwnd = 600000;
  nscc.on_ack(at(kNow), 0, nanos(6000), false, 0, false);
  EXPECT_EQ(nscc.base_rtt().ns(), 6000);
  EXPECT_EQ(nscc.max_wnd(), 450000);
  EXPECT_EQ(nscc.cwnd(), 600000);
  nscc.on_ack(at(kNow), 0, nanos(6001), false, 0, false);
  EXPECT_EQ(nscc.base_rtt().ns(), 6000);
}

// [MRC-NSCC-CHOICE-6]
TEST_F(NsccTest, small_packets_sample_feeds_the_average_only) {
  nscc.on_ack(at(kNow + kR), 0, nanos(kR + 3000), false, 0, false, false);
  EXPECT_EQ(nscc.avg_delay().ns(), 3000);
  nscc.on_ack(at(kNow + 2 * kR), 0, nanos(5000), false, 0, false, false);
  EXPECT_EQ(nscc.base_rtt().ns(), kR);
  EXPECT_TRUE(did(kStepProportional));     // delay 0
  EXPECT_EQ(nscc.avg_delay().ns(), 3000);  // [MRC-NSCC-18]: below what it may not lower it is no measure of the queues
  nscc.on_nack(at(kNow), kPacket, nanos(5000), true, false);
  EXPECT_EQ(nscc.base_rtt().ns(), kR);
  nscc.on_nack(at(kNow), kPacket, nanos(5000), true);
  EXPECT_EQ(nscc.base_rtt().ns(), 5000);
}

TEST_F(NsccTest, without_a_sample_nothing_but_the_counts_moves) {
  s().last_adjust_time = 0;  // a batch is due
  nscc.on_ack(at(kNow), 1000, std::nullopt, true, 0, false);
  EXPECT_EQ(nscc.last_branches(), kStepNoSample);
  EXPECT_EQ(nscc.cwnd(), 300000);
  EXPECT_EQ(s().received_bytes, 256000);
  EXPECT_EQ(s().achieved_bytes, 256000);
  EXPECT_EQ(s().bytes_ignored, 256000);
  EXPECT_EQ(s().qa_endtime, 0);
}

// ---------------------------------------------------------------- receiver penalty

class NsccPenalty : public NsccTest {
 protected:
  void penalty(uint8_t p, bool restore, uint32_t units) {
    nscc.on_ack(at(kNow), s().last_rcvd + units, nanos(kR + 3000), false, p, restore);
  }
};

TEST_F(NsccPenalty, holds_at_inflight_takes_its_share_and_blocks_increases) {
  s().inflight = 200000 + 25600;
  penalty(64, false, 100);
  EXPECT_EQ(nscc.cwnd(), 200000 - 12800);
  EXPECT_EQ(s().saved_cwnd, 300000);
  EXPECT_EQ(s().inc_bytes, 0);
  penalty(127, false, 0);  // no new bytes, no further cut
  EXPECT_EQ(nscc.cwnd(), 187200);
  EXPECT_EQ(s().saved_cwnd, 300000);  // the first one is kept
  penalty(0, true, 0);
  EXPECT_EQ(nscc.cwnd(), 300000);
  EXPECT_EQ(s().saved_cwnd, 0);
  penalty(0, true, 0);
  EXPECT_FALSE(did(kStepRestore));
}

TEST_F(NsccPenalty, one_of_127_takes_about_a_packet_and_not_below_one_mtu) {
  s().inflight = 10000 + 4096;
  penalty(127, false, 16);
  EXPECT_EQ(nscc.cwnd(), 10000 - 4064);
  s().inflight = 0;
  penalty(1, false, 16);
  EXPECT_EQ(nscc.cwnd(), kPacket);
}

// [MRC-NSCC-CHOICE-4]
TEST_F(NsccPenalty, return_to_zero_without_restore_forgets_the_saved_window) {
  s().inflight = 100000;
  penalty(1, false, 0);
  EXPECT_EQ(nscc.cwnd(), 100000);
  penalty(0, false, 0);
  EXPECT_EQ(s().saved_cwnd, 0);
  penalty(0, true, 0);
  EXPECT_EQ(nscc.cwnd(), 100000);
}

TEST_F(NsccPenalty, acts_without_a_sample_and_leaves_eta_and_decrease_on) {
  s().inflight = 100000;
  nscc.on_ack(at(kNow), 0, std::nullopt, false, 1, false);
  EXPECT_EQ(nscc.cwnd(), 100000);
  s().last_adjust_time = kNow - kR;
  penalty(1, false, 0);
  EXPECT_TRUE(did(kStepEta));
  EXPECT_EQ(nscc.cwnd(), 101664);
  s().avg_delay = 60000;
  s().last_avg_time = kNow;
  s().last_dec_time = 0;
  nscc.on_ack(at(kNow), 0, nanos(kR + kT), true, 1, false);
  EXPECT_EQ(nscc.cwnd(), 50000);
}

// ---------------------------------------------------------------- NACK and loss

TEST_F(NsccTest, nack_for_another_reason_gives_back_the_bytes_only) {
  s().inflight = 10000;
  nscc.on_nack(at(kNow), kPacket, std::nullopt, false);
  EXPECT_EQ(nscc.inflight(), 10000 - kPacket);
  EXPECT_EQ(nscc.cwnd(), 300000);
  EXPECT_EQ(nscc.last_branches(), 0);
  EXPECT_FALSE(s().trigger_qa);
  EXPECT_EQ(s().bytes_ignored, 0);
}

// [MRC-NSCC-CHOICE-11]
TEST_F(NsccTest, loss_takes_one_packet_and_triggers_nothing) {
  s().inflight = 10000;
  nscc.on_loss(at(kNow), kPacket);
  EXPECT_EQ(nscc.cwnd(), 295840);
  EXPECT_EQ(nscc.inflight(), 10000 - kPacket);
  EXPECT_EQ(s().bytes_ignored, kPacket);
  EXPECT_FALSE(s().trigger_qa);
  s().cwnd = kPacket + 1;
  nscc.on_loss(at(kNow), kPacket);
  EXPECT_EQ(nscc.cwnd(), kPacket);
}

TEST_F(NsccTest, trim_feeds_r_to_the_average_and_cuts_one_packet) {
  nscc.on_nack(at(kNow + kR / 2), kPacket, std::nullopt, true);
  EXPECT_EQ(nscc.avg_delay().ns(), kR / 2);  // half a base_rtt has passed: weight 1/2
  EXPECT_EQ(nscc.cwnd(), 295840);
  EXPECT_EQ(s().bytes_ignored, kPacket);
  EXPECT_TRUE(s().trigger_qa);
}

}  // namespace
}  // namespace mrc::core
