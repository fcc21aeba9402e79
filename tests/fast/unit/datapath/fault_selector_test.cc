// Which packets the rules of a fault plan concern, without a datapath.
#include "datapath/fault_selector.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "datapath/fault.h"

namespace mrc::datapath {
namespace {

constexpr uint32_t kSegments = 10;
constexpr uint32_t kAll = (1u << kSegments) - 1;

Instant at(int64_t ms) {
  return Instant::from_ns(1000000000) + Duration::milliseconds(ms);
}

FaultSelector make(const std::string& text) {
  const Result<std::shared_ptr<const FaultPlan>> plan = parse_fault(text);
  EXPECT_TRUE(plan) << text;
  return FaultSelector(*plan);
}

core::TxBurst& burst(uint32_t segments = kSegments, PlaneId plane = 0_plane) {
  static core::TxBurst b;
  b.plane = plane;
  b.segments = segments;
  return b;
}

// Bit s: segment s of the first `segments` has the flag.
uint32_t flagged(const FaultSelector& faults, uint8_t flag, uint32_t segments = kSegments) {
  uint32_t set = 0;
  for (uint32_t s = 0; s < segments; ++s)
    if ((faults.flags(s) & flag) != 0) set |= 1u << s;
  return set;
}

TEST(FaultSelector, advance__flags_are_those_of_the_rules) {
  const std::pair<const char*, uint8_t> rules[] = {
      {"loss=1", FaultSelector::kLost},        {"dup=1", FaultSelector::kCopied}, {"reorder=1", FaultSelector::kHeld},
      {"corrupt=1", FaultSelector::kDamaged},  {"ecn=1", FaultSelector::kMarked}, {"trim=1", FaultSelector::kCut},
      {"burstloss=1/3", FaultSelector::kLost},
  };
  for (const auto& [text, flag] : rules) {
    FaultSelector faults = make(text);
    EXPECT_TRUE(faults.evaluate(at(0), burst()).affected) << text;
    faults.advance(at(0), burst());
    EXPECT_EQ(flagged(faults, flag), kAll) << text;
    EXPECT_EQ(flagged(faults, static_cast<uint8_t>(~flag)), 0u) << text;
  }
}

TEST(FaultSelector, advance__rules_are_independent) {
  FaultSelector faults = make("dup=1; plane=1:ecn=1; plane=2:trim=1");
  faults.advance(at(0), burst());
  EXPECT_EQ(flagged(faults, FaultSelector::kCopied), kAll);
  EXPECT_EQ(flagged(faults, FaultSelector::kMarked), kAll);
  EXPECT_EQ(flagged(faults, FaultSelector::kCut), 0u);
}

// A distance is counted in packets, whatever bursts they come in.
TEST(FaultSelector, advance__the_size_of_bursts_does_not_matter) {
  FaultSelector whole = make("seed=7; loss=0.2"), single = make("seed=7; loss=0.2");
  int lost = 0;
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(whole.evaluate(at(0), burst()).affected, [&] {
      FaultSelector copy = whole;
      copy.advance(at(0), burst());
      return flagged(copy, FaultSelector::kLost) != 0;
    }());
    whole.advance(at(0), burst());
    uint32_t one_by_one = 0;
    for (uint32_t s = 0; s < kSegments; ++s) {
      single.advance(at(0), burst(1));
      one_by_one |= flagged(single, FaultSelector::kLost, 1) << s;
    }
    EXPECT_EQ(flagged(whole, FaultSelector::kLost), one_by_one) << round;
    for (uint32_t s = 0; s < kSegments; ++s) lost += static_cast<int>(one_by_one >> s & 1);
  }
  EXPECT_NEAR(lost, 200, 60);
}

TEST(FaultSelector, advance__losses_in_a_row_go_on_in_the_next_burst) {
  FaultSelector faults = make("burstloss=0.01/25");
  uint32_t row = 0, rows = 0;
  for (int round = 0; round < 2000; ++round) {
    const bool affected = faults.evaluate(at(0), burst(1)).affected;
    faults.advance(at(0), burst(1));
    EXPECT_EQ(affected, flagged(faults, FaultSelector::kLost, 1) != 0);
    if (affected) {
      ++row;
      continue;
    }
    EXPECT_EQ(row % 25, 0u) << round;
    rows += row / 25;
    row = 0;
  }
  EXPECT_GT(rows, 2u);
}

TEST(FaultSelector, evaluate__a_black_hole_drops_the_whole_burst_of_its_scope) {
  FaultSelector faults = make("plane=2:blackhole");
  EXPECT_TRUE(faults.evaluate(at(0), burst(kSegments, 1_plane)).dropped);
  EXPECT_FALSE(faults.evaluate(at(0), burst(kSegments, 0_plane)).dropped);
}

TEST(FaultSelector, evaluate__delays_add_up_and_affect_no_packet) {
  FaultSelector faults = make("delay=2ms/3ms; delay=10ms");
  Duration least = Duration::infinite(), most;
  for (int round = 0; round < 200; ++round) {
    const FaultSelector::Effect effect = faults.evaluate(at(0), burst());
    EXPECT_FALSE(effect.affected);
    least = std::min(least, effect.delay);
    most = std::max(most, effect.delay);
  }
  EXPECT_GE(least, Duration::milliseconds(12));
  EXPECT_LT(least, Duration::microseconds(12100));
  EXPECT_LE(most, Duration::milliseconds(13));
  EXPECT_GT(most, Duration::microseconds(12900));
}

// Offering a burst again must not change what happens to it.
TEST(FaultSelector, evaluate__changes_no_distance) {
  FaultSelector once = make("seed=3; loss=0.1"), often = make("seed=3; loss=0.1");
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 5; ++i) (void)often.evaluate(at(0), burst());
    once.advance(at(0), burst());
    often.advance(at(0), burst());
    EXPECT_EQ(flagged(once, FaultSelector::kLost), flagged(often, FaultSelector::kLost)) << round;
  }
}

TEST(FaultSelector, evaluate__times_count_from_the_first_burst) {
  FaultSelector faults = make("blackhole@10ms-20ms");
  EXPECT_FALSE(faults.evaluate(at(5), burst()).dropped);
  EXPECT_FALSE(faults.evaluate(at(14), burst()).dropped);
  EXPECT_TRUE(faults.evaluate(at(15), burst()).dropped);
  EXPECT_TRUE(faults.evaluate(at(24), burst()).dropped);
  EXPECT_FALSE(faults.evaluate(at(25), burst()).dropped);
}

}  // namespace
}  // namespace mrc::datapath
