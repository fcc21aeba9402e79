// The pauses of EVs that are marked again and again. [MRC-EVS-3] [MRC-EVS-19]
#include "core/skip_memory.h"

#include <gtest/gtest.h>

#include <optional>

namespace mrc::core {
namespace {

constexpr EvIndex kEv = 5_ev;

class SkipMemoryTest : public testing::Test {
 protected:
  // Turns that the EV is skipped before its next use.
  int skipped_turns() {
    int turns = 0;
    while (skips_.take(kEv, true)) ++turns;
    skips_.on_used(kEv);
    return turns;
  }
  // The same for eight uses, after those that are due now: of pauses all eighths.
  int turns_of_eight_uses() {
    skipped_turns();
    int turns = 0;
    for (int i = 0; i < 8; ++i) turns += skipped_turns();
    return turns;
  }
  void mark() {
    skips_.on_marked(kEv, sent_, sent_ + 1);
    ++sent_;
  }
  void deliver(int packets) {
    for (int i = 0; i < packets; ++i, ++sent_) skips_.on_delivered(kEv, sent_, sent_ + 1);
  }

  SkipMemory skips_;
  uint64_t sent_ = 0;
};

// [MRC-EVS-3]
TEST_F(SkipMemoryTest, a_mark_costs_the_next_turn) {
  EXPECT_TRUE(skips_.on_marked(kEv, 0, 1));
  EXPECT_FALSE(skips_.on_marked(kEv, 1, 2));  // skipped already
  EXPECT_TRUE(skips_.skipped(kEv));
  EXPECT_TRUE(skips_.take(kEv, false));
  EXPECT_FALSE(skips_.skipped(kEv));
  EXPECT_FALSE(skips_.take(kEv, false));
}

TEST_F(SkipMemoryTest, each_mark_adds_two_turns_to_the_pause_after_a_use) {
  mark();
  EXPECT_EQ(skipped_turns(), 1);
  EXPECT_EQ(skipped_turns(), 2);
  EXPECT_EQ(skipped_turns(), 2);
  mark();
  EXPECT_EQ(skipped_turns(), 2);  // what is left of the pause
  EXPECT_EQ(skipped_turns(), 4);
  for (int i = 0; i < 20; ++i) {
    mark();
    skipped_turns();
  }
  EXPECT_EQ(skipped_turns(), SkipMemory::kMaxPause / SkipMemory::kTurn);
}

TEST_F(SkipMemoryTest, eight_deliveries_take_a_turn_off) {
  mark();
  deliver(8);
  skipped_turns();
  EXPECT_EQ(skipped_turns(), 1);
  deliver(4);
  skipped_turns();
  int turns = 0;
  for (int i = 0; i < 8; ++i) turns += skipped_turns();
  EXPECT_EQ(turns, 4);  // half a turn each time
  deliver(5);
  skipped_turns();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(skipped_turns(), 0);
}

// With packets 0 to 9 in flight on the EV when the first verdict arrives, theirs is one.
TEST_F(SkipMemoryTest, packets_sent_before_the_last_verdict_change_nothing) {
  for (uint64_t seq = 0; seq < 10; ++seq) skips_.on_marked(kEv, seq, 10);
  skipped_turns();
  EXPECT_EQ(skipped_turns(), 2);
  for (uint64_t seq = 10; seq < 20; ++seq) skips_.on_delivered(kEv, seq, 20);
  EXPECT_EQ(turns_of_eight_uses(), 15);  // fifteen eighths each time
}

// A SACK for a burst names one marked packet and reports another one as arrived, which its own SACK names next.
TEST_F(SkipMemoryTest, a_mark_counts_after_a_delivery_of_the_same_flight) {
  skips_.on_marked(kEv, 0, 1);
  skips_.on_delivered(kEv, 5, 6);
  skips_.on_marked(kEv, 5, 6);
  EXPECT_EQ(turns_of_eight_uses(), 15 + 16);
  skips_.on_marked(kEv, 4, 6);  // that mark has counted
  EXPECT_EQ(turns_of_eight_uses(), 15 + 16);
}

// As on the answer to a probe.
TEST_F(SkipMemoryTest, a_mark_on_no_numbered_packet_costs_one_turn) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(skips_.on_marked(kEv, std::nullopt, 10), i == 0);
  EXPECT_TRUE(skips_.take(kEv, false));
  EXPECT_EQ(turns_of_eight_uses(), 0);
}

// Numbers of packets are kept modulo 2^32.
TEST_F(SkipMemoryTest, verdicts_do_not_get_old) {
  constexpr uint64_t kWrap = uint64_t{1} << 32;
  const auto pause_ends = [&] {
    deliver(8);
    skipped_turns();
    return skips_.empty();
  };
  for (sent_ = kWrap - 40; sent_ < kWrap + 40;) {
    mark();
    skips_.on_marked(kEv, sent_ - 1, sent_);  // that has counted
    deliver(8);
    EXPECT_EQ(turns_of_eight_uses(), 8) << sent_;
    EXPECT_TRUE(pause_ends());
  }
  mark();
  sent_ += kWrap / 2;
  deliver(8);
  EXPECT_EQ(turns_of_eight_uses(), 8);
  sent_ += kWrap / 2;
  EXPECT_TRUE(pause_ends());
}

// An idle QP stays small.
TEST_F(SkipMemoryTest, nothing_is_kept_when_no_mark_and_no_pause_is_left) {
  EXPECT_TRUE(skips_.empty());
  mark();
  skips_.on_marked(2_ev, std::nullopt, sent_);
  deliver(16);
  EXPECT_FALSE(skips_.empty());
  EXPECT_TRUE(skips_.take(kEv, true));
  EXPECT_FALSE(skips_.empty());
  EXPECT_TRUE(skips_.take(2_ev, true));
  EXPECT_TRUE(skips_.empty());
  skips_.check();
}

TEST_F(SkipMemoryTest, a_turn_of_a_pause_that_is_not_allowed_is_over) {
  mark();
  skipped_turns();
  EXPECT_FALSE(skips_.take(kEv, false));
  EXPECT_TRUE(skips_.take(kEv, true));
  EXPECT_FALSE(skips_.take(kEv, true));
}

TEST_F(SkipMemoryTest, other_evs_have_none) {
  mark();
  for (const EvIndex other : {0_ev, 6_ev}) {
    skips_.on_used(other);
    skips_.on_delivered(other, 0, 1);
    EXPECT_FALSE(skips_.skipped(other));
    EXPECT_FALSE(skips_.take(other, true));
  }
}

}  // namespace
}  // namespace mrc::core
