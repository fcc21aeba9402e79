// Which plane carries a control packet [MRC-CHOICE-Q22].
#include "core/peer_paths.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace mrc::core {
namespace {

class PeerPathsControlTest : public testing::Test {
 protected:
  static constexpr uint8_t kPlanes = 3;
  PeerPathsControlTest() {
    for (uint8_t p = 0; p < kPlanes; ++p) {
      config_.planes.push_back({IpAddress::v4(10, p, 0, 1), 4791});
      peer_.planes.push_back({IpAddress::v4(10, p, 0, 2), 4791});
    }
    for (uint32_t i = 0; i < 12; ++i) config_.evs.push_back({49152 + i, plane_at(i % kPlanes)});
    config_.ev_min_active = 1;
    make();
  }
  void make() {
    names_.emplace(config_.evs);
    links_.emplace(config_.evs);
    paths_ = std::make_unique<PeerPaths>(config_, *names_, *links_, peer_, &counters_, nullptr, &rng_);
  }
  // Silence on a plane, packet after packet.
  void lose(uint8_t plane) {
    for (int64_t i = 1; i <= 8; ++i)
      paths_->on_lost(Instant::from_ns(1000 + i), ev_at(static_cast<size_t>(plane + kPlanes * (i % 4))),
                      Instant::from_ns(i));
  }
  int picked_plane(PlaneSet room) {
    const std::optional<EvIndex> ev = paths_->pick_control(room);
    return ev ? paths_->plane_of(*ev).value() : -1;
  }

  std::optional<EvIndex> answer() { return paths_->pick_answer(7_planes); }
  int answered_plane(PlaneSet room) {
    const std::optional<EvIndex> ev = paths_->pick_answer(room);
    return ev ? paths_->plane_of(*ev).value() : -1;
  }

  EndpointConfig config_;
  PeerDescription peer_;
  Counters counters_;
  Rng rng_{1};
  std::optional<EvNames> names_;
  std::optional<EvLinks> links_;
  std::unique_ptr<PeerPaths> paths_;
};

TEST_F(PeerPathsControlTest, pick_control__PlanesInTurn) {
  EXPECT_EQ(picked_plane(7_planes), 0);
  EXPECT_EQ(picked_plane(7_planes), 1);
  EXPECT_EQ(picked_plane(7_planes), 2);
  EXPECT_EQ(picked_plane(7_planes), 0);
  EXPECT_EQ(picked_plane(0b100_planes), 2);
}

// A failed plane has room because it is unused: taking it then would lose every answer of a busy sender.
TEST_F(PeerPathsControlTest, pick_control__WaitsForGoodPlanesRatherThanTakeASuspendedOne) {
  lose(1);
  ASSERT_EQ(counters_.plane_suspensions, 1u);
  EXPECT_EQ(picked_plane(0b10_planes), -1);
  EXPECT_EQ(picked_plane(0b110_planes), 2);
}

TEST_F(PeerPathsControlTest, pick_control__WaitsRatherThanTakeAPlaneThatThePeerCalledDown) {
  paths_->on_port_status(Instant::from_ns(1), 0b1_planes);
  EXPECT_EQ(picked_plane(0b110_planes), -1);
  EXPECT_EQ(picked_plane(7_planes), 0);
}

TEST_F(PeerPathsControlTest, pick_control__TakesAnyPlaneWhenNoneIsGood) {
  paths_->set_local_planes({});
  EXPECT_EQ(picked_plane(0b100_planes), 2);
}

// [MRC-EVS-9] The peer leaves a failed plane first, so its packets show which planes carry answers.
TEST_F(PeerPathsControlTest, pick_answer__TakesThePlaneThatTheLastRequestCameBy) {
  for (uint8_t plane : {2, 0, 0, 1}) {
    paths_->on_inbound(Instant::from_ns(1), PlaneId(plane), 1);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(answered_plane(7_planes), plane);
  }
}

TEST_F(PeerPathsControlTest, pick_answer__TakesAnotherPlaneWhenThatOneHasNoRoomOrIsBad) {
  paths_->on_inbound(Instant::from_ns(1), 1_plane, 1);
  EXPECT_EQ(answered_plane(0b101_planes), 0);
  EXPECT_EQ(answered_plane(0b101_planes), 2);
  lose(1);
  EXPECT_NE(answered_plane(7_planes), 1);
  EXPECT_EQ(answered_plane(0b10_planes), -1);  // waits, as for any control packet
}

TEST_F(PeerPathsControlTest, pick_answer__TakesThePathOfTheSameName) {
  paths_->on_inbound(Instant::from_ns(1), 1_plane, 49152 + 4);
  EXPECT_EQ(answer(), 4_ev);
  paths_->on_inbound(Instant::from_ns(1), 1_plane, 49152 + 10);
  EXPECT_EQ(answer(), 10_ev);
  paths_->on_inbound(Instant::from_ns(1), 1_plane, 49152 + 3);  // which lies on plane 0 here
  EXPECT_EQ(answer(), 10_ev);
  paths_->on_timeout(Instant::from_ns(1), 10_ev);
  paths_->on_inbound(Instant::from_ns(1), 1_plane, 49152 + 10);
  EXPECT_NE(answer(), 10_ev);
}

// Where the EV's upper half names the path, the port in its lower half differs from host to host.
TEST_F(PeerPathsControlTest, pick_answer__NamesAreTheUpperHalvesWhereThereAreAny) {
  for (size_t i = 0; i < config_.evs.size(); ++i)
    config_.evs[i].value = static_cast<uint32_t>((1 + i / kPlanes) << 16 | (40000 + i));
  make();
  paths_->on_inbound(Instant::from_ns(1), 2_plane, 3u << 16 | 50000);
  EXPECT_EQ(answer(), ev_at(2 + 2 * kPlanes));
}

}  // namespace
}  // namespace mrc::core
