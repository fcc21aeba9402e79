// Which plane carries a control packet.
#include "core/peer_paths.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

class PeerPathsTest : public testing::Test {
 protected:
  static constexpr uint8_t kPlanes = 3;
  PeerPathsTest() {
    for (uint8_t p = 0; p < kPlanes; ++p) {
      config_.planes.push_back({IpAddress::v4(10, p, 0, 1), 4791});
      peer_.planes.push_back({IpAddress::v4(10, p, 0, 2), 4791});
    }
    for (uint32_t i = 0; i < 12; ++i) config_.evs.push_back({49152 + i, static_cast<uint8_t>(i % kPlanes)});
    config_.ev_min_active = 1;
    paths_ = std::make_unique<PeerPaths>(config_, peer_, &counters_, nullptr, &rng_);
  }
  // Silence on a plane, packet after packet.
  void lose(uint8_t plane) {
    for (int64_t i = 1; i <= 8; ++i)
      paths_->on_lost(Instant::from_ns(1000 + i), static_cast<uint16_t>(plane + kPlanes * (i % 4)),
                      Instant::from_ns(i));
  }
  int picked_plane(uint32_t room) {
    uint16_t ev = 0;
    return paths_->pick_control(room, &ev) ? paths_->plane_of(ev) : -1;
  }

  EndpointConfig config_;
  PeerDescription peer_;
  Counters counters_;
  Rng rng_{1};
  std::unique_ptr<PeerPaths> paths_;
};

TEST_F(PeerPathsTest, pick_control__PlanesInTurn) {
  EXPECT_EQ(picked_plane(7), 0);
  EXPECT_EQ(picked_plane(7), 1);
  EXPECT_EQ(picked_plane(7), 2);
  EXPECT_EQ(picked_plane(7), 0);
  EXPECT_EQ(picked_plane(1 << 2), 2);
}

// A dead plane has room because nobody uses it: taking it then would lose every answer of a busy sender.
TEST_F(PeerPathsTest, pick_control__WaitsForGoodPlanesRatherThanTakeASuspendedOne) {
  lose(1);
  ASSERT_EQ(counters_.plane_suspensions, 1u);
  EXPECT_EQ(picked_plane(1 << 1), -1);
  EXPECT_EQ(picked_plane(1 << 1 | 1 << 2), 2);
}

TEST_F(PeerPathsTest, pick_control__WaitsRatherThanTakeAPlaneThatThePeerCalledDown) {
  paths_->set_remote_planes(1 << 0);
  EXPECT_EQ(picked_plane(1 << 1 | 1 << 2), -1);
  EXPECT_EQ(picked_plane(7), 0);
}

TEST_F(PeerPathsTest, pick_control__TakesAnyPlaneWhenNoneIsGood) {
  paths_->set_remote_planes(0);
  EXPECT_EQ(picked_plane(1 << 2), 2);
}

TEST_F(PeerPathsTest, on_lost__ObliviousSprayingRetiresNothing) {
  config_.oblivious = true;
  lose(1);
  paths_->on_timeout(Instant::from_ns(5000), 2);
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  EXPECT_EQ(counters_.ev_assumed_bad, 0u);
  EXPECT_EQ(paths_->status()[1].losses, 2u);
}

}  // namespace
}  // namespace mrc::core
