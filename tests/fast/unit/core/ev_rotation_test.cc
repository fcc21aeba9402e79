// The rotation of one QP over the planes and EVs towards its peer, and SKIP, which belongs to it alone. [MRC-EVS-1..3]
// [MRC-EVS-11]
#include "core/ev_rotation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace mrc::core {
namespace {

constexpr PlaneSet kAnywhere = PlaneSet::all();

class EvRotationTest : public testing::Test {
 protected:
  explicit EvRotationTest(uint32_t evs = 6)
      : names_(config(evs).evs),
        links_(config_.evs),
        paths_(config_, names_, links_, peer(), &counters_, nullptr, &rng_) {}
  static PlaneAddress address(uint8_t plane, uint8_t host) { return {IpAddress::v4(10, plane, 0, host), 4791}; }
  const EndpointConfig& config(uint32_t evs) {
    config_.planes = {address(0, 1), address(1, 1)};
    for (uint32_t i = 0; i < evs; ++i) config_.evs.push_back({50000 + i, plane_at(i % 2)});
    config_.ev_min_active = 1;
    return config_;
  }
  static PeerDescription peer() { return {{address(0, 2), address(1, 2)}}; }
  EvIndex next(PlaneSet room = kAnywhere) {
    const std::optional<EvIndex> ev = rotation_.next(&paths_, room);
    EXPECT_TRUE(ev);
    return ev.value_or(EvIndex());
  }
  std::multiset<EvIndex> take(int n) {
    std::multiset<EvIndex> taken;
    for (int i = 0; i < n; ++i) taken.insert(next());
    return taken;
  }

  std::vector<EvIndex> sequence(int n, PlaneSet room = kAnywhere) {
    std::vector<EvIndex> taken;
    for (int i = 0; i < n; ++i) taken.push_back(next(room));
    return taken;
  }
  // The newest packet was sent on that EV and is marked.
  bool skip(EvIndex ev) {
    ++sent_;
    return rotation_.skip(ev, sent_ - 1, sent_);
  }
  // From now on loads are in proportion to the packets in flight.
  void equal_round_trips() { paths_.on_plane_rtt(0_ev, Duration::microseconds(10)); }
  void send(PlaneId plane, int packets) {
    for (int i = 0; i < packets; ++i) rotation_.on_sent(plane);
  }

  EndpointConfig config_;
  Counters counters_;
  Rng rng_{3};
  EvNames names_;
  EvLinks links_;
  PeerPaths paths_;
  EvRotation rotation_;
  uint64_t sent_ = 0;
};

// [MRC-EVS-2]
TEST_F(EvRotationTest, each_lap_visits_every_ev_once) {
  for (int lap = 0; lap < 5; ++lap) EXPECT_EQ(take(6), (std::multiset<EvIndex>{0_ev, 1_ev, 2_ev, 3_ev, 4_ev, 5_ev}));
}

// A fixed order has no two packets of a QP on one path in a row, and queues that stay short at full load.
TEST_F(EvRotationTest, each_plane_keeps_its_order) {
  const std::vector<EvIndex> first = sequence(6);
  for (size_t k = 0; k < 6; k += 2) EXPECT_NE(paths_.plane_of(first[k]), paths_.plane_of(first[k + 1]));
  for (int lap = 0; lap < 5; ++lap) EXPECT_EQ(sequence(6), first);
}

TEST_F(EvRotationTest, a_plane_with_fewer_evs_repeats_them) {
  paths_.on_timeout(Instant::from_ns(1), 0_ev);
  const std::vector<EvIndex> taken = sequence(12);
  EXPECT_EQ(std::count_if(taken.begin(), taken.end(), [&](EvIndex ev) { return paths_.plane_of(ev) == 0_plane; }), 6);
  EXPECT_EQ(std::count(taken.begin(), taken.end(), 2_ev), 3);
}

// [MRC-EVS-11]
TEST_F(EvRotationTest, the_plane_with_the_smallest_load_is_next) {
  next();
  equal_round_trips();
  send(0_plane, 2);
  send(1_plane, 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(paths_.plane_of(next()), 1_plane);
  send(1_plane, 2);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(paths_.plane_of(next()), 0_plane);
  for (int i = 0; i < 20; ++i) paths_.on_plane_rtt(0_ev, Duration::microseconds(20));  // 2 x 20 us, 3 x 10 us
  for (int i = 0; i < 5; ++i) EXPECT_EQ(paths_.plane_of(next()), 1_plane);
  for (int i = 0; i < 2; ++i) rotation_.on_left(0_plane);
  EXPECT_EQ(paths_.plane_of(next()), 0_plane);
}

// [MRC-EVS-11]
TEST_F(EvRotationTest, a_plane_above_one_and_a_half_times_the_mean_of_the_others_waits) {
  next();
  equal_round_trips();
  send(0_plane, 9);
  send(1_plane, 6);
  EXPECT_EQ(paths_.plane_of(next(1_planes)), 0_plane);
  rotation_.on_sent(0_plane);
  EXPECT_FALSE(rotation_.next(&paths_, 1_planes));
  EXPECT_EQ(paths_.plane_of(next()), 1_plane);
  rotation_.on_sent(1_plane);
  EXPECT_EQ(paths_.plane_of(next(1_planes)), 0_plane);
}

TEST_F(EvRotationTest, few_packets_never_wait) {
  next();
  equal_round_trips();
  send(1_plane, 1);
  send(0_plane, EvRotation::kAlwaysInFlight);
  EXPECT_EQ(paths_.plane_of(next(1_planes)), 0_plane);
  rotation_.on_sent(0_plane);
  EXPECT_FALSE(rotation_.next(&paths_, 1_planes));
}

// Its port may be stuck: no packet in flight there will bring a SACK or a timeout that ends the wait.
TEST_F(EvRotationTest, no_plane_waits_for_one_without_packets_in_flight) {
  next();
  equal_round_trips();
  send(0_plane, 1000);
  EXPECT_EQ(paths_.plane_of(next(1_planes)), 0_plane);
  send(1_plane, 1);
  EXPECT_FALSE(rotation_.next(&paths_, 1_planes));
  rotation_.on_all_left();
  EXPECT_EQ(paths_.plane_of(next(1_planes)), 0_plane);
}

// As with oblivious spraying, which measures none.
TEST_F(EvRotationTest, without_round_trips_planes_take_turns) {
  next();
  send(0_plane, 1000);
  send(1_plane, 1);
  const std::vector<EvIndex> taken = sequence(6);
  for (size_t k = 1; k < 6; ++k) EXPECT_NE(paths_.plane_of(taken[k - 1]), paths_.plane_of(taken[k]));
}

// Two bursts at a time over two planes: in turn the first burst would meet the same plane each time.
TEST_F(EvRotationTest, when_nothing_is_in_flight_the_plane_is_drawn) {
  int first_on_0 = 0;
  for (int round = 0; round < 200; ++round) {
    const PlaneId a = paths_.plane_of(next());
    rotation_.on_sent(a);
    const PlaneId b = paths_.plane_of(next());
    rotation_.on_sent(b);
    EXPECT_NE(a, b);
    first_on_0 += a == 0_plane;
    rotation_.on_left(a);
    rotation_.on_left(b);
  }
  EXPECT_NEAR(first_on_0, 100, 40);
}

// A window of one burst does not move at the pace of the slowest plane. [MRC-EVS-11]
TEST_F(EvRotationTest, of_drawn_planes_one_with_k_times_the_round_trip_is_kept_every_kth_time) {
  const auto taken_of_2000 = [&](bool silent) {
    int on_0 = 0;
    for (int round = 0; round < 2000; ++round) {
      const PlaneId plane = paths_.plane_of(*rotation_.next(&paths_, kAnywhere, nullptr, silent));
      rotation_.on_sent(plane);
      rotation_.on_left(plane);
      on_0 += plane == 0_plane;
    }
    return on_0;
  };
  const auto round_trip_of_plane_0 = [&](Duration rtt) {
    for (int i = 0; i < 200; ++i) paths_.on_plane_rtt(0_ev, rtt);
  };
  paths_.on_plane_rtt(1_ev, Duration::microseconds(100));
  round_trip_of_plane_0(Duration::microseconds(198));
  EXPECT_NEAR(taken_of_2000(false), 1000, 100);
  round_trip_of_plane_0(Duration::microseconds(202));
  EXPECT_NEAR(taken_of_2000(false), 500, 80);
  round_trip_of_plane_0(Duration::milliseconds(1) + Duration::microseconds(50));
  EXPECT_NEAR(taken_of_2000(false), 100, 40);
  EXPECT_NEAR(taken_of_2000(true), 1000, 100);  // of a silent peer every plane is tried
}

// [MRC-EVS-3]
TEST_F(EvRotationTest, a_skipped_ev_costs_its_plane_the_turn) {
  const std::vector<EvIndex> lap = sequence(6);
  skip(lap[0]);
  EXPECT_EQ(next(), lap[1]);
  EXPECT_EQ(rotation_.why(), TraceTrigger::kSkipped);
  EXPECT_EQ(rotation_.passed_skipped(), 1u);
  EXPECT_EQ(next(), lap[2]);  // the skipped turn was this plane's
  EXPECT_EQ(rotation_.why(), TraceTrigger::kTurn);
}

// [MRC-EVS-12]
TEST_F(EvRotationTest, an_ev_that_waits_for_its_verdict_costs_its_plane_the_turn) {
  const std::vector<EvIndex> lap = sequence(6);
  paths_.on_data_sent(Instant::from_ns(1), lap[0], 1, 64);
  paths_.on_delivered(Instant::from_ns(2), lap[2], Instant::from_ns(2));
  EXPECT_EQ(next(), lap[1]);
  EXPECT_EQ(rotation_.why(), TraceTrigger::kSkipped);
  EXPECT_EQ(next(), lap[2]);
  EXPECT_EQ(sequence(4), (std::vector<EvIndex>{lap[3], lap[4], lap[5], lap[1]}));
  paths_.on_delivered(Instant::from_ns(1), lap[0], Instant::from_ns(1));
  EXPECT_EQ(take(6).count(lap[0]), 1u);
}

// [MRC-EVS-3]
TEST_F(EvRotationTest, one_choice_passes_one_ev_of_a_plane) {
  const std::vector<EvIndex> lap = sequence(6);
  const PlaneSet room{paths_.plane_of(lap[0])};
  skip(lap[0]);
  EXPECT_EQ(next(room), lap[2]);
  EXPECT_EQ(rotation_.why(), TraceTrigger::kSkipped);
  skip(lap[4]);
  skip(lap[0]);
  EXPECT_EQ(next(room), lap[0]);
  EXPECT_EQ(rotation_.why(), TraceTrigger::kAllSkipped);
  EXPECT_FALSE(rotation_.skipped(lap[0]));
  EXPECT_EQ(next(room), lap[2]);
  EXPECT_EQ(rotation_.why(), TraceTrigger::kFull);
}

// [MRC-EVS-3]
TEST_F(EvRotationTest, a_skipped_ev_is_passed_over_once) {
  EXPECT_TRUE(skip(4_ev));
  EXPECT_FALSE(skip(4_ev));  // skipped already: no second transition
  EXPECT_TRUE(rotation_.skipped(4_ev));
  EXPECT_EQ(take(5).count(4_ev), 0u);
  EXPECT_FALSE(rotation_.skipped(4_ev));  // GOOD again
  EXPECT_EQ(take(6).count(4_ev), 1u);
}

TEST_F(EvRotationTest, with_every_ev_skipped_any_is_as_good_as_another) {
  for (const EvIndex ev : EvRange(6)) skip(ev);
  EXPECT_LT(next(), 6_ev);
  EXPECT_EQ(rotation_.why(), TraceTrigger::kAllSkipped);
  EXPECT_EQ(rotation_.passed_skipped(), 2u);  // one of each plane
  take(6);
  for (const EvIndex ev : EvRange(6)) EXPECT_FALSE(rotation_.skipped(ev));
}

// Of eight EVs on one plane some are marked.
class EvRotationPauses : public EvRotationTest {
 protected:
  EvRotationPauses() : EvRotationTest(16), lap_(uses(8)) {}
  std::vector<EvIndex> uses(int n) { return sequence(n, 1_planes); }
  std::vector<EvIndex> lap_without(std::set<size_t> places) const {
    std::vector<EvIndex> left;
    for (size_t i = 0; i < lap_.size(); ++i)
      if (places.count(i) == 0) left.push_back(lap_[i]);
    return left;
  }

  const std::vector<EvIndex> lap_;
};

// [MRC-EVS-19]
TEST_F(EvRotationPauses, a_marked_ev_pauses_after_its_next_use) {
  skip(lap_[0]);
  EXPECT_EQ(uses(7), lap_without({0}));  // as each mark requires
  EXPECT_EQ(uses(8), lap_);
  for (int lap = 0; lap < 2; ++lap) EXPECT_EQ(uses(7), lap_without({0}));
  EXPECT_EQ(uses(8), lap_);
}

// A full plane has marks everywhere. [MRC-EVS-19]
TEST_F(EvRotationPauses, a_quarter_of_the_evs_pause_at_most) {
  for (const size_t place : {0, 2, 4}) skip(lap_[place]);
  EXPECT_EQ(uses(5), lap_without({0, 2, 4}));
  EXPECT_EQ(uses(8), lap_);
  for (int lap = 0; lap < 2; ++lap) EXPECT_EQ(uses(6), lap_without({0, 2}));
  EXPECT_EQ(uses(7), lap_without({4}));
}

// [MRC-EVS-1]
TEST_F(EvRotationTest, skip_of_one_rotation_is_not_that_of_another) {
  EvRotation other;
  skip(2_ev);
  EXPECT_FALSE(other.skipped(2_ev));
  std::set<EvIndex> visited;
  for (int i = 0; i < 6; ++i) {
    const std::optional<EvIndex> ev = other.next(&paths_, kAnywhere);
    ASSERT_TRUE(ev);
    visited.insert(*ev);
  }
  EXPECT_EQ(visited.count(2_ev), 1u);
  EXPECT_TRUE(paths_.usable(2_ev));
}

TEST_F(EvRotationTest, only_planes_with_room) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(paths_.plane_of(next(1_planes)), 0_plane);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(paths_.plane_of(next(2_planes)), 1_plane);
  EXPECT_FALSE(rotation_.next(&paths_, {}));
}

TEST_F(EvRotationTest, a_change_of_the_usable_set_is_seen_at_once) {
  next();
  paths_.on_timeout(Instant::from_ns(1), 3_ev);
  EXPECT_EQ(take(24).count(3_ev), 0u);
  paths_.on_probe_answer(Instant::from_ns(3), 3_ev, Instant::from_ns(2));
  EXPECT_EQ(take(6).count(3_ev), 1u);
}

TEST_F(EvRotationTest, nothing_to_choose_from) {
  for (const EvIndex ev : EvRange(6)) paths_.set_denied(Instant(), ev, true);
  EXPECT_FALSE(rotation_.next(&paths_, kAnywhere));
}

// [MRC-QP-3]
TEST_F(EvRotationTest, reset_forgets_skip_and_lap) {
  next();
  skip(1_ev);
  rotation_.reset();
  EXPECT_FALSE(rotation_.skipped(1_ev));
  EXPECT_EQ(take(6), (std::multiset<EvIndex>{0_ev, 1_ev, 2_ev, 3_ev, 4_ev, 5_ev}));
}

}  // namespace
}  // namespace mrc::core
