// QPs with an EV profile: the EVs that they use, and the reported states. [MRC-EVS-10]
#include "core/ev_choice.h"

#include <gtest/gtest.h>

#include <set>

#include "core/ev_rotation.h"
#include "core/peer_paths.h"

namespace mrc::core {
namespace {

class EvChoiceTest : public testing::Test, public Sink, public QpSink {
 protected:
  struct Reported {
    EvIndex ev;
    EvState to;
    uint64_t losses;
    friend bool operator==(const Reported&, const Reported&) = default;
  };
  EvChoiceTest()
      : names_(config().evs), links_(config_.evs), paths_(config_, names_, links_, peer(), &counters_, nullptr, &rng_) {
    choice_.allowed.assign(8, false);
    paths_.set_sink(this);
  }
  static PlaneAddress address(uint8_t plane, uint8_t host) { return {IpAddress::v4(10, plane, 0, host), 4791}; }
  // Two planes, four active EVs, then four backups.
  const EndpointConfig& config() {
    config_.planes = {address(0, 1), address(1, 1)};
    for (uint32_t i = 0; i < 8; ++i) config_.evs.push_back({50000 + i, plane_at(i % 2)});
    config_.ev_active = 4;
    config_.ev_min_active = 1;
    return config_;
  }
  static PeerDescription peer() { return {{address(0, 2), address(1, 2)}}; }
  std::set<EvIndex> lap() {
    PathOrder drawn;
    paths_.draw_order(&drawn, &choice_);
    return {drawn.evs.begin(), drawn.evs.end()};
  }
  void allow(std::initializer_list<EvIndex> evs) {
    choice_.allowed.assign(8, false);
    for (const EvIndex ev : evs) choice_.allowed[ev] = true;
    ++choice_.generation;
  }
  bool on_completion(const Completion&) override { return true; }
  void on_event(AsyncEvent) override {}
  void on_port_event(PlaneId, AsyncEvent) override {}
  void on_endpoint_response(uint16_t, PlaneId, Duration) override {}
  void on_ev_state(EvIndex ev, EvState to, uint64_t losses) override { reported_.push_back({ev, to, losses}); }

  EndpointConfig config_;
  Counters counters_;
  Rng rng_{5};
  EvNames names_;
  EvLinks links_;
  PeerPaths paths_;
  EvChoice choice_;
  std::vector<Reported> reported_;
};

TEST_F(EvChoiceTest, active_or_not) {
  allow({1_ev, 4_ev, 6_ev});
  EXPECT_EQ(lap(), (std::set<EvIndex>{1_ev, 4_ev, 6_ev}));
}

TEST_F(EvChoiceTest, bad_ones_are_left_out_while_there_are_enough_good_ones) {
  allow({0_ev, 1_ev, 2_ev, 3_ev});
  choice_.min_active = 2;
  paths_.on_timeout(Instant(), 0_ev);
  paths_.on_timeout(Instant(), 1_ev);
  EXPECT_EQ(lap(), (std::set<EvIndex>{2_ev, 3_ev}));
  paths_.on_timeout(Instant(), 2_ev);
  EXPECT_EQ(lap(), (std::set<EvIndex>{0_ev, 1_ev, 2_ev, 3_ev}));
}

// [MRC-EVS-20]
TEST_F(EvChoiceTest, good_ones_of_a_lossy_plane_come_before_bad_ones) {
  config_.host_delay = Duration();
  const auto us = [](int64_t n) { return Instant::from_ns(n * 1000); };
  paths_.on_delivered(us(1), 1_ev, us(1));
  for (int64_t now = 1000; now < 3000; ++now) {
    paths_.on_delivered(us(now), 0_ev, us(now));
    if (now % 10 == 0) {
      paths_.on_delivered(us(now), 1_ev, us(now));
    } else if (now >= 1020) {
      paths_.on_lost(us(now), 1_ev, us(now - 20));
    }
  }
  ASSERT_FALSE(paths_.plane_usable(1_plane));
  paths_.on_timeout(us(3000), 3_ev);
  allow({1_ev, 3_ev});
  EXPECT_EQ(lap(), (std::set<EvIndex>{1_ev}));
  choice_.min_active = 2;
  EXPECT_EQ(lap(), (std::set<EvIndex>{1_ev, 3_ev}));
  allow({0_ev, 1_ev, 2_ev});
  EXPECT_EQ(lap(), (std::set<EvIndex>{0_ev, 2_ev}));
}

TEST_F(EvChoiceTest, bad_ones_of_a_dead_plane_stay_out) {
  allow({0_ev, 1_ev, 2_ev, 3_ev});
  choice_.min_active = 3;
  paths_.set_local_planes(0b01_planes);
  paths_.on_timeout(Instant(), 0_ev);
  EXPECT_EQ(lap(), (std::set<EvIndex>{0_ev, 2_ev}));
}

TEST_F(EvChoiceTest, with_nothing_good_any_is_taken) {
  allow({0_ev, 1_ev});
  paths_.set_local_planes({});
  EXPECT_EQ(lap(), (std::set<EvIndex>{0_ev, 1_ev}));
}

TEST_F(EvChoiceTest, denied_ones_never) {
  allow({0_ev, 1_ev});
  choice_.min_active = 2;
  paths_.set_denied(Instant(), 0_ev, true);
  EXPECT_EQ(lap(), (std::set<EvIndex>{1_ev}));
  allow({});
  EXPECT_TRUE(lap().empty());
}

TEST_F(EvChoiceTest, a_change_takes_effect_at_once) {
  EvRotation rotation;
  allow({0_ev, 2_ev, 4_ev, 6_ev});
  ASSERT_TRUE(rotation.next(&paths_, PlaneSet::all(), &choice_));
  allow({5_ev});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(rotation.next(&paths_, PlaneSet::all(), &choice_), 5_ev);
  }
  allow({});
  EXPECT_FALSE(rotation.next(&paths_, PlaneSet::all(), &choice_));
}

// [MRC-EVS-1]
TEST_F(EvChoiceTest, states_are_told_with_the_losses_since) {
  const auto us = [](int64_t n) { return Instant::from_ns(n * 1000); };
  paths_.on_lost(us(20), 0_ev, us(10));
  EXPECT_TRUE(reported_.empty());
  paths_.on_lost(us(30), 0_ev, us(20));
  paths_.on_probe_answer(us(50), 0_ev, us(40));
  paths_.set_denied(us(60), 3_ev, true);
  EXPECT_EQ(reported_, (std::vector<Reported>{
                           {0_ev, EvState::kAssumedBad, 2}, {0_ev, EvState::kGood, 0}, {3_ev, EvState::kDenied, 0}}));
}

}  // namespace
}  // namespace mrc::core
