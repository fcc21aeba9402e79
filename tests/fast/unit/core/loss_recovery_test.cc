// Silence and gaps: when a packet counts as lost, when a probe asks, and what the retry budget is charged for. The
// thresholds are tested from both sides in virtual time. [MRC-LOSS-1..5]
#include <algorithm>

#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class LossRecoveryTest : public LoneEndpoint {
 protected:
  void one_round_trip(Duration rtt) {  // gives the QP its first sample
    post(1000, 8);
    drain();
    now_ = now_ + rtt;
    arrive(sack(0, 0));
    arrive(ack(0));
    sent_.clear();
    sends_.clear();
  }
  // Order holds within a plane alone: tests of the window have one.
  void one_plane() {
    for (EvEntry& ev : config_.evs) ev.plane = 0_plane;
  }
  // Requests 1 and 2, further apart than any window after a round trip of 40 us.
  void send_two() {
    post(1, 8);
    drain();
    now_ = now_ + Duration::microseconds(100);
    post(2, 8);
    drain();
  }
  static constexpr Duration kInterval = Duration::nanoseconds(1024ll << 10);
  // Such intervals, of which so many are linear and so many doubling.
  void short_budget(uint8_t linear, uint8_t doubling) {
    attr_.timeout = 10;
    attr_.retry_linear = linear;
    attr_.retry_exp = doubling;
  }
  // Two packets whose answers never come, and a third one on the other plane, which is answered at that time, `took`
  // after it was sent.
  void send_two_and_answer_a_third(Duration time, Duration took) {
    post(1, 8);
    post(2, 8);
    drain();
    pass(time - took);
    post(3, 8);
    drain();
    ASSERT_EQ(requests().size(), 3u);
    ASSERT_EQ(requests()[0]->plane, requests()[1]->plane);
    ASSERT_NE(requests()[0]->plane, requests()[2]->plane);
    pass(took);
    arrive(sack(0, 3, 0b100));
  }
  // After a first round trip of 40 us so many packets at once over one plane; 40 us later the report of the last, with
  // those of the bitmap.
  void send_and_report(int32_t packets, uint64_t arrived) {
    one_plane();
    start();
    one_round_trip(Duration::microseconds(40));
    for (int32_t i = 1; i <= packets; ++i) post(static_cast<uint64_t>(i), 8);
    drain();
    now_ = now_ + Duration::microseconds(40);
    arrive(sack(0, packets, arrived));
    drain();
  }
  // More is posted than the congestion window permits to send.
  void close_window() {
    for (uint64_t n = 1; n <= 60; ++n) post(n, 4096);
    drain();
  }
  // Half a window after the report of the packet that overtook others: theirs would have come by now.
  void believe(Duration window = Duration::microseconds(40)) { pass(window / 2); }
  size_t probes() const { return sent(wire::Opcode::kProbe).size(); }
  void answer_probe(int32_t cack, uint64_t above = 0) {
    wire::Packet p = sack(cack, 0, above);
    p.sack.seth.pr = true;
    p.sack.seth.probe_id = sent(wire::Opcode::kProbe).back()->p.peth.probe_id;
    arrive(p);
    drain();
  }
};

// [MRC-LOSS-1] [MRC-CHOICE-Q17]: time overtaken, not packets overtaken. In the first 16 round trips the window is one
// round trip.
TEST_F(LossRecoveryTest, a_packet_is_lost_when_one_sent_a_reordering_window_later_has_arrived) {
  for (auto [later, lost] : {std::pair{39, 0u}, {40, 1u}}) {
    sent_.clear();
    start();
    one_round_trip(Duration::microseconds(40));
    post(1, 8);
    drain();
    now_ = now_ + Duration::microseconds(later);
    for (uint64_t i = 0; i < 20; ++i) post(2 + i, 8);
    drain();
    wire::Packet p = sack(0, 0x7FFF, 0xFFFFF << 1);  // all twenty of the later ones, none named
    arrive(p);
    drain();
    EXPECT_EQ(counters().retransmits, 0u);
    believe();
    EXPECT_EQ(counters().fast_retransmits, lost) << later;
    EXPECT_EQ(counters().retransmits, lost) << later;
  }
}

// [MRC-LOSS-1] Nothing was sent a window later: then a round trip (40 us), the window (40 us) and twice the variation
// of the round trip (15 us after two samples) must have passed.
TEST_F(LossRecoveryTest, an_overtaken_packet_is_lost_after_a_round_trip_and_a_window) {
  send_and_report(2, 0b10);
  pass(Duration::microseconds(70) - Duration::nanoseconds(1));
  EXPECT_EQ(counters().fast_retransmits, 0u);
  pass(Duration::nanoseconds(1));
  EXPECT_EQ(counters().fast_retransmits, 1u);
  EXPECT_EQ(requests().size(), 3u);
  EXPECT_EQ(probes(), 0u);
}

// [MRC-LOSS-1] Of a burst, what lies before the last one that has arrived is overtaken.
TEST_F(LossRecoveryTest, packets_before_the_last_of_a_burst_that_arrived_are_overtaken) {
  send_and_report(4, 0b1010);
  pass(Duration::microseconds(70) - Duration::nanoseconds(1));
  EXPECT_EQ(counters().fast_retransmits, 0u);
  pass(Duration::nanoseconds(1));
  EXPECT_EQ(counters().fast_retransmits, 2u);
}

// Sends one packet each 10 us, with answers of 40 us, for so many round trips that the first epoch is over; then one
// packet is late by `late`. What names it is measured lateness; what does not may be a SACK that was lost.
class LatenessTest : public LossRecoveryTest {
 protected:
  void settle() {
    one_plane();
    config_.reorder_floor = Duration::microseconds(10);
    start();
    for (next_ = 0; next_ < 400; ++next_) {
      step();
      answered_ = next_ - 4;
      if (answered_ >= 0) arrive(sack(answered_, answered_));
      drain();
    }
  }
  void step() {
    post(static_cast<uint64_t>(next_), 8);
    drain();
    arrive(ack(next_ - 20));
    pass(pause_);
  }
  // Packet `victim` is not answered while `others` later ones are, then it is: by a SACK that names it, or another one.
  void be_late(int others, bool named) { be_late(others, named ? 0 : others, false); }
  // By a SACK that names the packet `named` after it, as a retransmission or not.
  void be_late(int others, int named, bool rtx) {
    const int victim = answered_ + 1;
    uint64_t above = 0;
    for (int i = 1; i <= others; ++i) {
      above |= 1ull << i;
      arrive(sack(victim - 1, victim + i, above));
      drain();
      step();
      ++next_;
    }
    answered_ = victim + others;
    wire::Packet p = sack(answered_, victim + named);
    p.bth.rtx = rtx;
    p.sack.cc.tx_timestamp = wire::timestamp_of(now_ - pause_ * (others + 4));
    arrive(p);
    drain();
  }
  int next_ = 0;
  int answered_ = 0;
  Duration pause_ = Duration::microseconds(10);
};

// [MRC-LOSS-1] [MRC-CHOICE-Q17]
TEST_F(LatenessTest, only_measured_lateness_widens_the_window) {
  for (bool named : {false, true}) {
    sent_.clear();
    sends_.clear();
    settle();
    ASSERT_EQ(counters().fast_retransmits, 0u);
    be_late(2, named);  // 20 us late: twice the floor
    const uint64_t first = counters().fast_retransmits;
    EXPECT_EQ(first, 1u);
    be_late(2, named);
    EXPECT_EQ(counters().fast_retransmits, named ? first : first + 1) << (named ? "named" : "not named");
  }
}

// [MRC-LOSS-1] A SACK that comes once more measures no lateness, nor does the answer to a retransmission.
TEST_F(LatenessTest, repeated_sacks_and_retransmissions_measure_no_lateness) {
  for (bool rtx : {false, true}) {
    sent_.clear();
    sends_.clear();
    settle();
    be_late(4, rtx ? 0 : 1, rtx);  // the one after it was reported 30 us ago
    const uint64_t first = counters().fast_retransmits;
    EXPECT_EQ(first, 1u);
    be_late(2, false);
    EXPECT_EQ(counters().fast_retransmits, first + 1) << (rtx ? "retransmission" : "repeated");
  }
}

// Timestamps of 16 bits return every 8.4 ms: lateness is measured beyond that, too.
TEST_F(LatenessTest, lateness_is_measured_on_slow_links_too) {
  pause_ = Duration::milliseconds(10);
  attr_.timeout = 24;
  config_.trimming = false;
  settle();
  ASSERT_EQ(counters().fast_retransmits, 0u);
  be_late(2, true);
  EXPECT_EQ(counters().fast_retransmits, 1u);
  be_late(2, true);
  EXPECT_EQ(counters().fast_retransmits, 1u);
}

// [MRC-MTU-1]: what a switch trims it would have sent on whole; what it rejects, perhaps not.
TEST_F(LossRecoveryTest, a_full_packet_that_is_trimmed_again_and_again_is_not_called_too_long) {
  for (auto [reason, searches] : {std::pair{wire::NackReason::kTrimmed, 0u}, {wire::NackReason::kNoPktBuffer, 1u}}) {
    sent_.clear();
    attr_.path_mtu = 1024;
    start();
    post(1, 1024);
    drain();
    for (int copies = 1; copies < 4; ++copies) {
      now_ = now_ + Duration::microseconds(10);
      arrive(nack(0, reason));
      drain();
    }
    ASSERT_EQ(requests().size(), 4u);
    pass(config_.probe_floor * 2);
    ASSERT_GT(probes(), 0u);
    answer_probe(-1);
    EXPECT_EQ(counters().mtu_searches, searches);
  }
}

TEST_F(LossRecoveryTest, the_reordering_window_has_a_floor) {
  one_plane();
  config_.reorder_floor = Duration::microseconds(500);
  for (auto [later, lost] : {std::pair{499, 0u}, {500, 1u}}) {
    sent_.clear();
    start();
    one_round_trip(Duration::microseconds(10));
    post(1, 8);
    drain();
    now_ = now_ + Duration::microseconds(later);
    post(2, 8);
    drain();
    arrive(sack(0, 0x7FFF, 0b10));
    drain();
    believe(config_.reorder_floor);
    EXPECT_EQ(counters().fast_retransmits, lost) << later;
  }
}

// [MRC-LOSS-2]: after probe_floor of silence, then at doubling intervals up to 32 ms.
TEST_F(LossRecoveryTest, probes_at_doubling_intervals_up_to_their_cap) {
  attr_.timeout = 24;
  start();
  post(1, 8);
  drain();
  pass(config_.probe_floor - Duration::nanoseconds(1));
  EXPECT_EQ(probes(), 0u);
  pass(Duration::nanoseconds(1));
  ASSERT_EQ(probes(), 1u);
  Duration wait = config_.probe_floor;
  for (size_t n = 2; n < 10; ++n) {
    wait = std::min(wait * 2, Duration::milliseconds(32));
    pass(wait - Duration::nanoseconds(1));
    EXPECT_EQ(probes(), n - 1);
    pass(Duration::nanoseconds(1));
    ASSERT_EQ(probes(), n);
  }
}

// [MRC-PROBE-1] [MRC-PROBE-2]
TEST_F(LossRecoveryTest, a_probe_uses_up_no_psn_and_has_an_id_of_its_own) {
  start();
  post(1, 8);
  drain();
  pass(Duration::milliseconds(2));
  const auto asked = sent(wire::Opcode::kProbe);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0]->p.bth.psn, Psn(0));
  EXPECT_EQ(asked[0]->p.bth.dqp, kPeerQpn);
  EXPECT_NE(asked[0]->p.peth.probe_id, asked[1]->p.peth.probe_id);
  EXPECT_NE(asked[0]->ev, asked[1]->ev);
  EXPECT_EQ(asked[0]->p.peth.timestamp.ftype, 1);  // [MRC-TSETH-3]
  EXPECT_EQ(asked[0]->flow.dscp(), config_.dscp.no_trim);
  post(2, 8);
  drain();
  EXPECT_EQ(requests().back()->p.bth.psn, attr_.sq_psn + 1);
}

// [MRC-LOSS-2]: the answer judges what was sent before the probe; an answer to another id judges nothing.
TEST_F(LossRecoveryTest, the_answer_of_a_probe_judges_everything_before_it) {
  one_plane();
  start();
  one_round_trip(Duration::microseconds(40));
  for (uint64_t i = 0; i < 3; ++i) post(i, 8);
  drain();
  pass(config_.probe_floor);
  ASSERT_EQ(probes(), 1u);
  wire::Packet wrong = sack(0, 0, 0b10);
  wrong.sack.seth.pr = true;
  wrong.sack.seth.probe_id = static_cast<uint16_t>(sent(wire::Opcode::kProbe)[0]->p.peth.probe_id + 1);
  arrive(wrong);
  drain();
  EXPECT_EQ(counters().retransmits, 0u);
  answer_probe(0, 0b10);
  believe(config_.probe_floor);
  EXPECT_EQ(counters().retransmits, 2u);
}

// [MRC-LOSS-1] This host did not run until now: other answers may be queued, and nothing is lost for a millisecond.
TEST_F(LossRecoveryTest, nothing_is_lost_immediately_after_a_pause_of_this_host) {
  one_plane();
  start();
  one_round_trip(Duration::microseconds(40));
  send_two();
  now_ = now_ + Duration::milliseconds(20);
  endpoint_->on_resumed(now_);
  arrive(sack(0, 2, 0b10));
  drain();
  pass(Duration::milliseconds(1));
  EXPECT_EQ(counters().retransmits, 0u);
  believe();
  EXPECT_EQ(counters().retransmits, 1u);
}

// [MRC-LOSS-1] A host that pauses all the time, or an application that polls every few milliseconds.
TEST_F(LossRecoveryTest, pauses_in_a_row_delay_losses_no_longer_than_one) {
  one_plane();
  start();
  one_round_trip(Duration::microseconds(40));
  send_two();
  endpoint_->on_resumed(now_);
  arrive(sack(0, 2, 0b10));
  for (int pause = 0; pause < 3; ++pause) {
    now_ = now_ + Duration::milliseconds(4);
    endpoint_->on_resumed(now_);
    endpoint_->handle_timeout(now_);
    drain();
  }
  EXPECT_EQ(counters().retransmits, 1u);
}

// [MRC-LOSS-1] The answer of a probe on another plane says nothing about packets that may wait in a queue of theirs:
// these are lost when their plane has been silent for twice the round trip, the window, four times the variation, and
// 200 us, and another plane answers then.
TEST_F(LossRecoveryTest, a_packet_of_a_silent_plane_is_lost_later) {
  config_.probe_floor = Duration::microseconds(100);
  start();
  one_round_trip(Duration::microseconds(40));
  post(1, 8);
  drain();
  post(2, 8);
  drain();
  ASSERT_NE(requests()[0]->plane, requests()[1]->plane);
  const Instant sent_at = now_;
  now_ = now_ + Duration::microseconds(40);
  arrive(sack(0, 2, 0b10));
  drain();
  EXPECT_EQ(counters().retransmits, 0u);
  pass(sent_at + Duration::microseconds(2 * 40 + 40 + 4 * 15 + 200) - now_ - Duration::nanoseconds(1));
  answer_probe(0, 0b10);
  pass(Duration::nanoseconds(1));
  EXPECT_EQ(counters().retransmits, 0u);
  const size_t before = probes();
  while (probes() == before) pass(Duration::microseconds(10));
  EXPECT_EQ(counters().retransmits, 0u);
  answer_probe(0, 0b10);
  pass(Duration::nanoseconds(1));
  EXPECT_EQ(counters().retransmits, 1u);
}

// [MRC-LOSS-2]: a peer that takes longer than the pause between probes is still accepted, and probed less often.
TEST_F(LossRecoveryTest, a_late_answer_to_the_first_probe_counts) {
  one_plane();
  start();
  one_round_trip(Duration::microseconds(40));
  for (uint64_t i = 0; i < 3; ++i) post(i, 8);
  drain();
  for (int i = 0; i < 100 && probes() < 4; ++i) pass(config_.probe_floor);
  ASSERT_EQ(probes(), 4u);
  wire::Packet late = sack(0, 0, 0b10);
  late.sack.seth.pr = true;
  for (size_t which : {1u, 2u}) {  // the send times of the others are no longer known
    late.sack.seth.probe_id = sent(wire::Opcode::kProbe)[which]->p.peth.probe_id;
    arrive(late);
    drain();
    EXPECT_EQ(counters().retransmits, 0u);
  }
  late.sack.seth.probe_id = sent(wire::Opcode::kProbe)[0]->p.peth.probe_id;
  arrive(late);
  drain();
  believe(config_.probe_floor);
  EXPECT_EQ(counters().retransmits, 2u);
}

// [MRC-LOSS-1] A peer that did not run for 80 ms has read one plane: its first answer is to the first of the probes,
// and says nothing of the other plane.
TEST_F(LossRecoveryTest, a_late_answer_to_a_probe_ends_a_silence_of_all_planes) {
  attr_.timeout = 24;
  start();
  one_round_trip(Duration::microseconds(40));
  post(1, 8);
  drain();
  post(2, 8);
  drain();
  now_ = now_ + Duration::microseconds(40);
  arrive(sack(0, 2, 0b10));
  drain();
  pass(Duration::milliseconds(80));
  ASSERT_GT(probes(), 3u);
  wire::Packet late = sack(0, 0, 0b10);
  late.sack.seth.pr = true;
  late.sack.seth.probe_id = sent(wire::Opcode::kProbe)[0]->p.peth.probe_id;
  arrive(late);
  post(3, 8);
  drain();
  ASSERT_NE(requests()[0]->plane, requests()[2]->plane);
  now_ = now_ + Duration::microseconds(40);
  arrive(sack(0, 3, 0b110));
  pass(Duration::microseconds(100));
  EXPECT_EQ(counters().retransmits, 0u);
}

// [MRC-LOSS-2] [MRC-EVS-17]: probes leave after 6 and 18 ms, and the third 24 ms after the last sign of the peer; two
// round trips and four times their variation are 20 ms. The answer to the first one may still be on its way when the
// second leaves, that to the second one is overdue at the third. It counts only if the peer answered something else.
TEST_F(LossRecoveryTest, the_silence_of_a_probe_counts_against_its_path_only_when_its_answer_is_overdue) {
  for (bool answers : {false, true}) {
    sent_.clear();
    attr_.timeout = 24;
    start();
    one_round_trip(Duration::milliseconds(5));
    post(1, 8);
    drain();
    pass(Duration::milliseconds(19));
    ASSERT_EQ(probes(), 2u);
    const EvIndex silent = sent(wire::Opcode::kProbe)[1]->ev;
    post(2, 8);
    drain();
    ASSERT_NE(requests().back()->ev, silent);
    if (answers) {
      pass(Duration::milliseconds(5));
      arrive(sack(0, 2, 0b10));
      drain();
    }
    EXPECT_EQ(ev(silent).losses, 0u);
    for (int ms = 0; ms < 100 && probes() == 2; ++ms) pass(Duration::milliseconds(1));
    ASSERT_EQ(probes(), 3u);
    EXPECT_EQ(ev(silent).losses, answers ? 1u : 0u);
  }
}

// [MRC-LOSS-3] [MRC-CHOICE-Q18]: 1.024 us * 2^timeout for the linear attempts, doubling after them.
TEST_F(LossRecoveryTest, intervals_are_linear_then_doubling) {
  short_budget(2, 3);
  start();
  post(1, 8);
  drain();
  const Duration t = Duration::nanoseconds(1024ll << 10);
  const int64_t steps[] = {1, 1, 1, 2, 4};
  for (size_t n = 0; n < 5; ++n) {
    pass(t * steps[n] - Duration::microseconds(1));
    EXPECT_EQ(counters().timeouts, n) << n;
    pass(Duration::microseconds(1));
    EXPECT_EQ(counters().timeouts, n + 1) << n;
    EXPECT_EQ(requests().size(), n + 2);
    EXPECT_EQ(state(), QpState::kRts);
  }
  pass(t * 8);
  EXPECT_EQ(state(), QpState::kError);
  ASSERT_EQ(sends_.size(), 1u);
  EXPECT_EQ(sends_[0].status, WcStatus::kRetryExceeded);
}

// [MRC-CNT-1] [MRC-CNT-2]: a late answer saves the retransmission, not the timeout.
TEST_F(LossRecoveryTest, a_timeout_is_no_retransmission) {
  for (const bool late : {true, false}) {
    short_budget(2, 3);
    start();
    post(1, 8);
    drain();
    pass(kInterval - Duration::microseconds(1));
    EXPECT_EQ(counters().timeouts, 0u);
    now_ = now_ + Duration::microseconds(1);
    endpoint_->handle_timeout(now_);
    EXPECT_EQ(counters().timeouts, 1u);
    if (late) arrive(ack(0));
    drain();
    EXPECT_EQ(counters().timeouts, 1u);
    EXPECT_EQ(counters().retransmits, late ? 0u : 1u);
    EXPECT_EQ(counters().fast_retransmits, 0u);
  }
}

// [MRC-LOSS-3]: each of these packets expires at a time of its own.
TEST_F(LossRecoveryTest, an_interval_is_charged_once_however_many_packets_expire_in_it) {
  short_budget(2, 0);
  config_.probe_floor = Duration::seconds(1);  // else the peer is silent, and only the oldest expires
  start();
  const Duration t = Duration::nanoseconds(1024ll << 10), apart = Duration::microseconds(50);
  for (uint64_t n = 1; n <= 8; ++n) {
    post(n, 8);
    drain();
    pass(apart);
  }
  pass(t * 3 - apart * 8 - Duration::microseconds(1));
  EXPECT_EQ(state(), QpState::kRts);
  EXPECT_GT(counters().timeouts, 8u);
  pass(apart * 8);
  EXPECT_EQ(state(), QpState::kError);
}

TEST_F(LossRecoveryTest, no_retries_means_the_first_timeout_ends_it) {
  short_budget(0, 0);
  start();
  post(1, 8);
  drain();
  pass(Duration::nanoseconds(1024ll << 10) - Duration::nanoseconds(1));
  EXPECT_EQ(state(), QpState::kRts);
  pass(Duration::nanoseconds(1));
  EXPECT_EQ(state(), QpState::kError);
}

TEST_F(LossRecoveryTest, twenty_five_means_for_ever) {
  attr_.timeout = 1;
  attr_.retry_linear = 0;
  for (uint8_t exponential : {24, 25}) {
    attr_.retry_exp = exponential;
    start();
    post(1, 8);
    drain();
    pass(Duration::seconds(900));
    EXPECT_EQ(state(), exponential == 25 ? QpState::kRts : QpState::kError);
  }
}

// Two packets; the second one is answered after 900 us, so that the timeout is four times that.
TEST_F(LossRecoveryTest, a_timeout_retires_its_path_and_the_retransmission_takes_another) {
  attr_.timeout = 10;
  config_.probe_floor = Duration::seconds(1);
  start();
  post(1, 8);
  drain();
  post(2, 8);
  drain();
  const EvIndex used = requests()[0]->ev;
  now_ = now_ + Duration::microseconds(900);
  arrive(sack(-1, 1, 0b10));
  pass(Duration::microseconds(2700));
  ASSERT_EQ(requests().size(), 3u);
  EXPECT_EQ(ev(used).state, EvState::kAssumedBad);
  EXPECT_NE(requests()[2]->ev, used);
  EXPECT_TRUE(requests()[2]->p.bth.rtx);
}

// [MRC-EVS-17] There was no time to send it again.
TEST_F(LossRecoveryTest, a_packet_that_arrives_after_its_timeout_brings_its_path_back) {
  attr_.timeout = 10;
  config_.probe_floor = Duration::seconds(1);
  start();
  for (const uint64_t id : {1, 2}) {
    post(id, 8);
    drain();
  }
  const EvIndex used = requests()[0]->ev;
  now_ = now_ + Duration::microseconds(900);
  arrive(sack(-1, 1, 0b10));
  now_ = now_ + Duration::microseconds(2700);
  endpoint_->handle_timeout(now_);
  ASSERT_EQ(ev(used).state, EvState::kAssumedBad);
  arrive(sack(1, 0));
  EXPECT_EQ(ev(used).state, EvState::kGood);
  drain();
  EXPECT_EQ(requests().size(), 2u);
}

// [MRC-EVS-17] Nothing was answered at all: the next path is tried, and none is retired.
TEST_F(LossRecoveryTest, a_timeout_of_a_silent_peer_retires_no_path) {
  attr_.timeout = 10;
  start();
  post(1, 8);
  drain();
  const EvIndex used = requests()[0]->ev;
  pass(Duration::nanoseconds(1024ll << 10));
  ASSERT_EQ(requests().size(), 2u);
  EXPECT_EQ(ev(used).state, EvState::kGood);
  EXPECT_EQ(ev(used).losses, 1u);
  EXPECT_NE(requests()[1]->ev, used);
}

// [MRC-LOSS-7] It may merely not run: then everything has arrived, and would be retransmitted in vain.
TEST_F(LossRecoveryTest, of_a_silent_peer_only_the_oldest_packet_is_retransmitted) {
  short_budget(2, 0);
  start();
  one_round_trip(Duration::microseconds(40));
  close_window();
  const size_t all = requests().size();
  ASSERT_LT(all, 60u * 16) << "the congestion window is to be closed";
  ASSERT_GT(all, 16u);
  const Duration t = Duration::nanoseconds(1024ll << 10);
  for (size_t n = 1; n <= 2; ++n) {
    pass(t);
    ASSERT_EQ(requests().size(), all + n);
    EXPECT_EQ(requests().back()->p.bth.psn, attr_.sq_psn + 1);
    EXPECT_EQ(counters().timeouts, n);
  }
  EXPECT_EQ(state(), QpState::kRts);
  pass(t);
  EXPECT_EQ(state(), QpState::kError);
}

// [MRC-LOSS-7] Half an interval, to the nanosecond: one that answered later merely is slow, and all that expires is
// retransmitted. The round trip is so long that nothing is inferred from the last answer.
TEST_F(LossRecoveryTest, a_peer_is_silent_after_half_an_interval) {
  for (const int64_t later : {0, 1}) {
    sent_.clear();
    short_budget(7, 0);
    config_.probe_floor = Duration::microseconds(100);
    start();
    one_round_trip(Duration::microseconds(100));
    const Instant began = now_;
    send_two_and_answer_a_third(kInterval / 2 + Duration::nanoseconds(later), Duration::microseconds(100));
    pass(began + kInterval - now_ - Duration::nanoseconds(1));
    EXPECT_EQ(counters().retransmits, 0u);
    pass(Duration::nanoseconds(1));
    EXPECT_EQ(counters().retransmits, later == 0 ? 1u : 2u);
  }
}

// [MRC-LOSS-7] Probes leave after 150 and 500 us, and the next one would after the interval. The second one asked a
// silent peer only if nothing was heard later: it, or its answer, may be lost.
TEST_F(LossRecoveryTest, a_probe_from_before_the_last_answer_shows_no_silence) {
  for (const int64_t later : {0, 1}) {
    sent_.clear();
    short_budget(7, 0);
    config_.probe_floor = Duration::microseconds(150);
    start();
    one_round_trip(Duration::microseconds(100));
    const Instant began = now_;
    const Duration more = Duration::nanoseconds(later);
    send_two_and_answer_a_third(Duration::microseconds(500) + more, Duration::microseconds(300) + more);
    pass(began + kInterval - now_);
    ASSERT_EQ(probes(), 2u);
    EXPECT_EQ(counters().retransmits, later == 0 ? 1u : 2u);
  }
}

// [MRC-EVS-17] The silence of one QP is not the peer's: what another one sent half an interval ago was answered.
TEST_F(LossRecoveryTest, a_timeout_of_a_silent_qp_retires_its_path_if_another_qp_has_answers) {
  for (const int64_t earlier : {0, 1}) {
    sent_.clear();
    attr_.timeout = 10;
    start();
    Qp* const other = make_qp(Qpn(0x102));
    const Instant began = now_;
    post(1, 8);
    post(2, 8);
    drain();
    ASSERT_EQ(requests().size(), 2u);
    const EvIndex used = requests()[0]->ev;
    pass(kInterval / 2 - Duration::nanoseconds(earlier));
    post(1, 8, SendOp::kWrite, true, other);
    drain();
    ASSERT_EQ(requests().size(), 3u);
    pass(Duration::microseconds(40));
    wire::Packet answer = sack(0, 0);
    answer.bth.dqp = Qpn(0x102);
    arrive(answer);
    pass(began + kInterval - now_);
    EXPECT_EQ(counters().timeouts, 1u);
    ASSERT_EQ(requests().size(), 4u) << "of the silent QP only the oldest packet is retransmitted";
    EXPECT_EQ(ev(used).state, earlier == 0 ? EvState::kAssumedBad : EvState::kGood);
    EXPECT_EQ(ev(used).losses, 1u);
  }
}

// Nothing arrives any more, and so the load of the planes stays as it is: each is tried all the same, by the packet and
// by probes, which the packet does not put off.
TEST_F(LossRecoveryTest, of_a_silent_peer_every_plane_is_tried) {
  short_budget(7, 25);
  start();
  one_round_trip(Duration::microseconds(40));
  close_window();
  sent_.clear();
  pass(Duration::seconds(2));
  for (const PlaneId plane : {0_plane, 1_plane}) {
    const auto on_plane = [&](const SentPacket* p) { return p->plane == plane; };
    const auto again = requests(), asked = sent(wire::Opcode::kProbe);
    EXPECT_GT(std::count_if(again.begin(), again.end(), on_plane), 2);
    EXPECT_GT(std::count_if(asked.begin(), asked.end(), on_plane), 10);
  }
}

// It counted as lost before the silence, and the window was closed.
TEST_F(LossRecoveryTest, of_a_silent_peer_the_oldest_packet_is_retransmitted_whatever_it_was_lost_by) {
  attr_.timeout = 10;
  start();
  one_round_trip(Duration::microseconds(40));
  close_window();
  sent_.clear();
  for (int n = 0; n < 40; ++n) arrive(nack(1, wire::NackReason::kNoResource));
  EXPECT_TRUE(requests().empty()) << "the window is to be closed";
  pass(Duration::nanoseconds(1024ll << 11));
  ASSERT_FALSE(requests().empty());
  EXPECT_EQ(requests()[0]->p.bth.psn, attr_.sq_psn + 1);
}

// [MRC-ACK-6] The oldest packet that has not arrived is not the first above a transport ACK.
TEST_F(LossRecoveryTest, a_peer_that_is_silent_after_an_ack_is_found_out) {
  short_budget(2, 0);
  start();
  for (uint64_t n = 1; n <= 3; ++n) post(n, 8);
  drain();
  arrive(sack(-1, 1, 0b10));
  arrive(ack(0));
  pass(Duration::milliseconds(200));
  EXPECT_EQ(requests().back()->p.bth.psn, attr_.sq_psn + 2);
  EXPECT_EQ(state(), QpState::kError);
}

// The peer runs again, and says that nothing has arrived.
TEST_F(LossRecoveryTest, an_answer_after_silence_finds_what_was_lost) {
  attr_.timeout = 10;
  one_plane();
  start();
  one_round_trip(Duration::microseconds(40));
  for (uint64_t n = 1; n <= 8; ++n) post(n, 8);
  drain();
  pass(Duration::nanoseconds(1024ll << 10));
  ASSERT_EQ(requests().size(), 9u);
  answer_probe(0);
  pass(Duration::milliseconds(1));
  EXPECT_EQ(requests().size(), 16u);
}

TEST_F(LossRecoveryTest, the_budget_is_whole_again_when_cack_moves) {
  short_budget(2, 0);
  start();
  post(1, 8);
  post(2, 8);
  drain();
  const Duration t = Duration::nanoseconds(1024ll << 10);
  pass(t * 2);
  EXPECT_EQ(state(), QpState::kRts);
  arrive(sack(0, 0));
  pass(t * 2);
  EXPECT_EQ(state(), QpState::kRts);
  pass(t * 2);
  EXPECT_EQ(state(), QpState::kError);
}

// [MRC-LOSS-4]: everything has arrived, nothing is acknowledged, and probes are unanswered.
TEST_F(LossRecoveryTest, a_peer_that_died_after_its_sack_is_found_out) {
  short_budget(2, 0);
  start();
  post(1, 8);
  drain();
  arrive(sack(0, 0));
  EXPECT_EQ(requests().size(), 1u);
  pass(Duration::milliseconds(200));
  EXPECT_EQ(state(), QpState::kError);
  EXPECT_EQ(sends_[0].status, WcStatus::kRetryExceeded);
  EXPECT_EQ(requests().size(), 1u);  // it had arrived: nothing was sent again
}

// [MRC-ACK-6]: the first one is in the peer's memory, and its transport ACK was lost.
TEST_F(LossRecoveryTest, exhausted_retries_fail_the_oldest_that_did_not_arrive) {
  short_budget(2, 0);
  start();
  for (uint64_t n = 1; n <= 3; ++n) post(n, 8);
  drain();
  arrive(sack(0, 0));
  pass(Duration::milliseconds(200));
  EXPECT_EQ(state(), QpState::kError);
  ASSERT_EQ(sends_.size(), 3u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[1].status, WcStatus::kRetryExceeded);
  EXPECT_EQ(sends_[2].status, WcStatus::kFlushed);
}

// [MRC-LOSS-4]: each charge follows a probe that had its time. 1.024 us * 2^1 is less than four round trips, so the
// interval is 160 us, a third of the time until the first probe.
TEST_F(LossRecoveryTest, silence_is_not_charged_before_the_peer_was_asked) {
  attr_.timeout = 1;
  attr_.retry_linear = 1;
  attr_.retry_exp = 0;
  start();
  one_round_trip(Duration::microseconds(40));
  post(1, 8);
  drain();
  arrive(sack(1, 1));
  pass(config_.probe_floor - Duration::nanoseconds(1));
  EXPECT_EQ(probes(), 0u);
  EXPECT_EQ(state(), QpState::kRts);
  pass(Duration::milliseconds(5));
  EXPECT_EQ(state(), QpState::kError);
}

// [MRC-MTU-1]: the size of a packet is suspected when it was sent three times, and only if it is large.
TEST_F(LossRecoveryTest, the_third_transmission_of_a_large_packet_starts_a_search_of_the_path_mtu) {
  attr_.timeout = 10;
  attr_.path_mtu = 1024;
  const Duration t = Duration::nanoseconds(1024ll << 10);
  for (uint32_t size : {8u, 256u, 1024u}) {
    start();
    post(1, size);
    drain();
    pass(t * 3 - Duration::microseconds(1));
    EXPECT_EQ(counters().timeouts, 2u);
    EXPECT_EQ(counters().mtu_searches, 0u) << size;
    pass(t);
    EXPECT_EQ(counters().mtu_searches, size > 256) << size;
  }
}

// [MRC-LOSS-5]: probes are answered, and the packet never gets through.
TEST_F(LossRecoveryTest, answered_probes_do_not_reset_the_budget_while_something_is_missing) {
  attr_.timeout = 12;
  attr_.retry_linear = 2;
  attr_.retry_exp = 0;
  start();
  one_round_trip(Duration::microseconds(40));
  post(1, 8);
  drain();
  size_t answered = 0;
  for (int i = 0; i < 2000 && state() == QpState::kRts; ++i) {
    pass(Duration::microseconds(100));
    if (probes() > answered) {
      answered = probes();
      answer_probe(0);
    }
  }
  EXPECT_GT(answered, 2u);
  EXPECT_EQ(state(), QpState::kError);
  EXPECT_EQ(sends_.back().status, WcStatus::kRetryExceeded);
}

// [MRC-LOSS-5] Nothing can be sent again, and time passes all the same.
TEST_F(LossRecoveryTest, the_budget_is_charged_while_no_path_is_left) {
  short_budget(2, 0);
  start();
  post(1, 8);
  drain();
  for (uint8_t plane : {0, 1}) endpoint_->set_plane_up(now_, PlaneId(plane), false);
  pass(Duration::seconds(1));
  EXPECT_EQ(state(), QpState::kError);
  ASSERT_EQ(sends_.size(), 1u);
  EXPECT_EQ(sends_[0].status, WcStatus::kRetryExceeded);
}

// Other QPs use the paths that a QP found bad with its last attempt.
TEST_F(LossRecoveryTest, paths_that_end_a_qp_are_asked_all_the_same) {
  short_budget(0, 0);
  config_.probe_floor = Duration::seconds(1);
  start();
  post(1, 8);
  drain();
  post(2, 8);
  drain();
  const EvIndex bad = requests()[0]->ev;
  now_ = now_ + Duration::microseconds(900);
  arrive(sack(-1, 1, 0b10));
  pass(Duration::microseconds(2800));
  ASSERT_EQ(state(), QpState::kError);
  ASSERT_EQ(ev(bad).state, EvState::kAssumedBad);
  pass(Duration::milliseconds(100));
  const auto asked = sent(wire::Opcode::kEndpointRequest);
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(asked[0]->ev, bad);
}

// [MRC-LAT-2] From the first transmission to the acknowledgement, for packets that were sent again and for no others.
TEST_F(LossRecoveryTest, the_delay_of_a_retransmission_counts_from_the_first_copy) {
  one_plane();
  start();
  one_round_trip(Duration::microseconds(40));
  EXPECT_EQ(endpoint_->retransmission_delays(qp_), nullptr);
  send_two();
  arrive(sack(0, 2, 0b10));  // the first one is missing and is sent again
  drain();
  believe();
  ASSERT_EQ(counters().retransmits, 1u);
  now_ = now_ + Duration::microseconds(280);
  arrive(sack(2, 2));
  const DelayHistogram* own = endpoint_->retransmission_delays(qp_);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->count(), 1u);
  EXPECT_GE(own->max(), Duration::microseconds(400));
  EXPECT_LE(own->max(), Duration::microseconds(402));
  const PeerLatency peer = endpoint_->peer_latency(peer_id_);
  EXPECT_EQ(peer.retransmission.count(), 1u);
  EXPECT_EQ(peer.retransmission.sum_ns(), own->sum_ns());
}

// [MRC-LAT-1] From posting, also of a request that waited in the queue, to success; one that fails is not counted.
TEST_F(LossRecoveryTest, the_latency_of_a_completion_counts_from_posting) {
  start();
  post(1, 8);
  now_ = now_ + Duration::microseconds(70);
  drain();
  now_ = now_ + Duration::microseconds(50);
  arrive(sack(0, 0));
  EXPECT_EQ(endpoint_->peer_latency(peer_id_).completion.count(), 0u);
  now_ = now_ + Duration::microseconds(10);
  arrive(ack(0));
  PeerLatency peer = endpoint_->peer_latency(peer_id_);
  EXPECT_EQ(peer.completion.count(), 1u);
  EXPECT_EQ(peer.completion.max(), Duration::microseconds(130));
  EXPECT_EQ(peer.retransmission.count(), 0u);
  post(2, 8);
  drain();
  EXPECT_TRUE(endpoint_->modify_qp(now_, qp_, QpState::kError, attr_));
  EXPECT_EQ(endpoint_->peer_latency(peer_id_).completion.count(), 1u);
}

}  // namespace
}  // namespace mrc::core
