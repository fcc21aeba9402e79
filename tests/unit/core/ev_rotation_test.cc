// The rotation of one QP over the EVs towards its peer, and SKIP, which belongs to it alone. [MRC-EVS-1..3]
#include "core/ev_rotation.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace mrc::core {
namespace {

constexpr PlaneSet kAnywhere = PlaneSet::all();

class EvRotationTest : public testing::Test {
 protected:
  EvRotationTest() : names_(config().evs), paths_(config_, names_, peer(), &counters_, nullptr, &rng_) {}
  static PlaneAddress address(uint8_t plane, uint8_t host) { return {IpAddress::v4(10, plane, 0, host), 4791}; }
  const EndpointConfig& config() {
    config_.planes = {address(0, 1), address(1, 1)};
    for (uint32_t i = 0; i < 6; ++i) config_.evs.push_back({50000 + i, plane_at(i % 2)});
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

  EndpointConfig config_;
  Counters counters_;
  Rng rng_{3};
  EvNames names_;
  PeerPaths paths_;
  EvRotation rotation_;
};

// [MRC-EVS-2]
TEST_F(EvRotationTest, EachLapVisitsEveryEvOnce) {
  for (int lap = 0; lap < 5; ++lap) EXPECT_EQ(take(6), (std::multiset<EvIndex>{0_ev, 1_ev, 2_ev, 3_ev, 4_ev, 5_ev}));
}

// [MRC-EVS-3]
TEST_F(EvRotationTest, ASkippedEvIsPassedOverOnce) {
  EXPECT_TRUE(rotation_.skip(4_ev));
  EXPECT_FALSE(rotation_.skip(4_ev));  // skipped already: no second transition
  EXPECT_TRUE(rotation_.skipped(4_ev));
  EXPECT_EQ(take(5).count(4_ev), 0u);
  EXPECT_FALSE(rotation_.skipped(4_ev));  // GOOD again
  EXPECT_EQ(take(6).count(4_ev), 1u);
}

TEST_F(EvRotationTest, WithEveryEvSkippedAnyIsAsGoodAsAnother) {
  for (const EvIndex ev : EvRange(6)) rotation_.skip(ev);
  EXPECT_LT(next(), 6_ev);
  for (const EvIndex ev : EvRange(6)) EXPECT_FALSE(rotation_.skipped(ev));
}

// [MRC-EVS-1]
TEST_F(EvRotationTest, SkipOfOneRotationIsNotThatOfAnother) {
  EvRotation other;
  rotation_.skip(2_ev);
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

TEST_F(EvRotationTest, OnlyPlanesWithRoom) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(paths_.plane_of(next(1_planes)), 0_plane);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(paths_.plane_of(next(2_planes)), 1_plane);
  EXPECT_FALSE(rotation_.next(&paths_, {}));
}

TEST_F(EvRotationTest, AChangeOfTheUsableSetIsSeenAtOnce) {
  next();
  paths_.on_timeout(Instant::from_ns(1), 3_ev);
  EXPECT_EQ(take(24).count(3_ev), 0u);
  paths_.on_probe_answer(Instant::from_ns(3), 3_ev, Instant::from_ns(2));
  EXPECT_EQ(take(6).count(3_ev), 1u);
}

TEST_F(EvRotationTest, NothingToChooseFrom) {
  for (const EvIndex ev : EvRange(6)) paths_.set_denied(Instant(), ev, true);
  EXPECT_FALSE(rotation_.next(&paths_, kAnywhere));
}

// [MRC-QP-3]
TEST_F(EvRotationTest, ResetForgetsSkipAndLap) {
  next();
  rotation_.skip(1_ev);
  rotation_.reset();
  EXPECT_FALSE(rotation_.skipped(1_ev));
  EXPECT_EQ(take(6), (std::multiset<EvIndex>{0_ev, 1_ev, 2_ev, 3_ev, 4_ev, 5_ev}));
}

}  // namespace
}  // namespace mrc::core
