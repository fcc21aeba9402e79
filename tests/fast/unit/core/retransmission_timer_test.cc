// When unanswered packets expire, and what the budget is charged for, without an endpoint. Thresholds from both sides;
// times in microseconds of a made-up clock. [MRC-LOSS-3..5]
#include "core/retransmission_timer.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::core {
namespace {

constexpr Duration kRto = Duration::microseconds(100);
constexpr Instant rto_time(int64_t n) {
  return Instant::from_ns(n * 1000);
}

class RetransmissionTimerTest : public testing::Test {
 protected:
  RetransmissionTimerTest() {
    attr_.retry_linear = 1;
    attr_.retry_exp = 0;
    detector_.start(2, Duration());
    sent_.make_room(&pool_, 16, 64);
    timer_.on_new_oldest(rto_time(0));
  }
  void send(int64_t at, EvIndex ev = 0_ev) { sent_.on_sent(rto_time(at), ev, 1000); }
  void send_again(int64_t at, uint64_t seq) {
    sent_.on_lost(seq, TraceTrigger::kOvertaken);
    sent_.on_sent_again(rto_time(at), seq, 0_ev, 1000);
  }
  void arrive(uint64_t end) {
    for (uint64_t s = sent_.una(); s < end; ++s) sent_.on_arrived(s);
    sent_.advance();
  }
  RetransmissionTimer::Expired expire(int64_t now, bool silent = false) {
    expired_.clear();
    return RetransmissionTimer::expire(rto_time(now), kRto, silent, detector_, Paths{*this}, &sent_, [&](uint64_t seq) {
      expired_.push_back(seq);
      sent_.on_lost(seq, TraceTrigger::kTimedOut);
    });
  }
  RetransmissionTimer::Verdict judge(int64_t now, bool any) {
    return timer_.judge(rto_time(now), kRto, any, sent_, probe_, attr_);
  }

  struct Paths {  // EV i on plane i
    PlaneId plane_of(EvIndex ev) const { return plane_at(ev.value()); }
    PlaneEvidence evidence(PlaneId plane, Instant) const { return plane == 1_plane ? test.evidence_ : PlaneEvidence(); }
    const RetransmissionTimerTest& test;
  };
  PlaneEvidence evidence_;  // of plane 1
  QpAttr attr_;
  LossDetector detector_;
  ProbeTimer probe_;
  TxWindowPool pool_;
  SentPackets sent_;
  RetransmissionTimer timer_;
  std::vector<uint64_t> expired_;
};

TEST_F(RetransmissionTimerTest, the_time_of_the_timer) {
  EXPECT_FALSE(timer_.armed());
  timer_.arm(rto_time(5), kRto);
  EXPECT_TRUE(timer_.armed());
  EXPECT_EQ(timer_.deadline(), rto_time(105));
  timer_.postpone(rto_time(300));
  EXPECT_EQ(timer_.deadline(), rto_time(300));
  timer_.cancel();
  EXPECT_EQ(timer_.deadline(), Instant::never());
}

TEST_F(RetransmissionTimerTest, the_interval_is_no_shorter_than_four_round_trips) {
  attr_.timeout = 0;  // 1024 ns
  EXPECT_EQ(timer_.interval(attr_, Duration::nanoseconds(256)), Duration::nanoseconds(1024));
  EXPECT_EQ(timer_.interval(attr_, Duration::nanoseconds(257)), Duration::nanoseconds(1028));
}

TEST_F(RetransmissionTimerTest, restart__for_the_next_that_is_due_but_an_interval_from_now_at_the_latest) {
  timer_.restart(rto_time(200), rto_time(250), kRto);
  EXPECT_EQ(timer_.deadline(), rto_time(250));
  timer_.restart(rto_time(200), rto_time(301), kRto);
  EXPECT_EQ(timer_.deadline(), rto_time(300));
  timer_.restart(rto_time(200), Instant::never(), kRto);
  EXPECT_EQ(timer_.deadline(), rto_time(300));
}

// [MRC-LOSS-3]
TEST_F(RetransmissionTimerTest, expire__packets_in_flight_for_the_interval) {
  for (const int64_t at : {0, 1, 2, 3}) send(at);
  sent_.on_arrived(1);
  RetransmissionTimer::Expired expired = expire(99);
  EXPECT_FALSE(expired.any);
  EXPECT_EQ(expired.next, rto_time(100));
  expired = expire(102);
  EXPECT_TRUE(expired.any);
  EXPECT_EQ(expired_, (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(expired.next, rto_time(103));
  expired = expire(103);
  EXPECT_EQ(expired_, (std::vector<uint64_t>{3}));
  EXPECT_EQ(expired.next, Instant::never());
  EXPECT_FALSE(expire(300).any);  // they are lost already
}

// [MRC-LOSS-3] A plane with a long queue delays its packets alone.
TEST_F(RetransmissionTimerTest, expire__after_four_round_trips_of_the_plane) {
  evidence_.round_trip = Duration::microseconds(40);
  send(50);
  send(50, 1_ev);
  const RetransmissionTimer::Expired expired = expire(209);
  EXPECT_EQ(expired_, (std::vector<uint64_t>{0}));
  EXPECT_EQ(expired.next, rto_time(210));
  EXPECT_TRUE(expire(210).any);
  EXPECT_EQ(expired_, (std::vector<uint64_t>{1}));
}

// [MRC-LOSS-3]
TEST_F(RetransmissionTimerTest, expire__not_while_the_plane_delivers_what_is_older) {
  send(50, 1_ev);
  evidence_.delivered_at = rto_time(400);
  EXPECT_EQ(expire(499).next, rto_time(500));
  EXPECT_TRUE(expired_.empty());
  EXPECT_TRUE(expire(500).any);
}

// [MRC-LOSS-3]
TEST_F(RetransmissionTimerTest, expire__of_a_silent_peer_the_oldest_alone) {
  for (const int64_t at : {0, 1}) send(at);
  EXPECT_FALSE(expire(99, true).any);
  EXPECT_TRUE(expire(200, true).any);
  EXPECT_EQ(expired_, (std::vector<uint64_t>{0}));
}

// One that could not be sent again yet, whatever it was lost by.
TEST_F(RetransmissionTimerTest, expire__of_a_silent_peer_the_lost_oldest_times_out) {
  send(0);
  sent_.on_lost(0, TraceTrigger::kOvertaken);
  EXPECT_FALSE(expire(200).any);
  EXPECT_FALSE(sent_.oldest_timed_out(0));
  EXPECT_TRUE(expire(200, true).any);
  EXPECT_TRUE(expired_.empty());
  EXPECT_TRUE(sent_.oldest_timed_out(0));
}

TEST_F(RetransmissionTimerTest, expire__nothing_when_all_has_arrived) {
  send(0);
  arrive(1);
  EXPECT_FALSE(expire(200, true).any);
}

// [MRC-LOSS-3] Packets that were sent at different times are one interval together.
TEST_F(RetransmissionTimerTest, judge__an_interval_is_charged_once) {
  for (const int64_t at : {0, 1}) send(at);
  EXPECT_FALSE(judge(99, true).spent);
  EXPECT_EQ(timer_.attempts(), 0u);
  judge(100, true);
  EXPECT_EQ(timer_.attempts(), 1u);
  judge(199, true);
  EXPECT_EQ(timer_.attempts(), 1u);
  EXPECT_TRUE(judge(200, true).spent);  // of one attempt
  timer_.check(true);
}

TEST_F(RetransmissionTimerTest, judge__progress_restores_the_budget) {
  send(0);
  judge(100, true);
  timer_.on_progress();
  EXPECT_FALSE(judge(200, true).spent);
  timer_.on_new_oldest(rto_time(250));
  judge(349, true);
  EXPECT_EQ(timer_.attempts(), 1u);
  EXPECT_TRUE(judge(350, true).spent);
}

// [MRC-LOSS-5]
TEST_F(RetransmissionTimerTest, judge__the_oldest_is_stuck_when_it_was_sent_again_and_the_interval_has_passed) {
  for (const int64_t at : {0, 90}) send(at);
  EXPECT_FALSE(judge(100, false).stuck);  // sent once: it expires, or is inferred to be lost
  send_again(95, 0);
  EXPECT_FALSE(judge(99, false).stuck);
  EXPECT_FALSE(judge(100, true).stuck);  // what has expired is charged
  EXPECT_FALSE(judge(199, false).stuck);
  const RetransmissionTimer::Verdict verdict = judge(200, false);
  EXPECT_TRUE(verdict.stuck);
  EXPECT_TRUE(verdict.spent);
  EXPECT_FALSE(verdict.silent);
}

// [MRC-LOSS-5] No path is left to send it again.
TEST_F(RetransmissionTimerTest, judge__the_oldest_is_stuck_while_it_cannot_be_sent_again) {
  send(0);
  sent_.on_lost(0, TraceTrigger::kOvertaken);
  EXPECT_TRUE(judge(100, false).stuck);
  EXPECT_EQ(timer_.attempts(), 1u);
}

// [MRC-LOSS-4] The peer has had everything, by its SACK, and does not answer the probe for its ACK.
TEST_F(RetransmissionTimerTest, judge__silence_is_charged_when_the_peer_was_asked) {
  send(0);
  arrive(1);
  EXPECT_FALSE(judge(500, false).silent);  // it was not
  probe_.on_sent(rto_time(400), 7, 0_ev, 1);
  EXPECT_FALSE(judge(499, false).silent);
  EXPECT_EQ(timer_.attempts(), 0u);
  EXPECT_TRUE(judge(500, false).silent);
  EXPECT_EQ(timer_.attempts(), 1u);
  send(501);  // something is in flight: its own time runs
  EXPECT_FALSE(judge(600, false).silent);
  EXPECT_EQ(timer_.attempts(), 1u);
}

}  // namespace
}  // namespace mrc::core
