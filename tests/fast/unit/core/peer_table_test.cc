// Peers by description, and their references.
#include "core/peer_table.h"

#include "bare_engine.h"

namespace mrc::core {
namespace {

struct Observer final : PeerObserver {
  void on_peer_left(Peer* p) override { left.push_back(p->id); }
  void on_peer_gone(Peer* p) override { gone.push_back(p->id); }
  std::vector<PeerId> left, gone;
};

class PeerTableTest : public BareEngine {
 protected:
  PeerTableTest() { peers_.set_observer(&observer_); }
  Observer observer_;
};

TEST_F(PeerTableTest, the_same_description_is_the_same_peer) {
  const PeerId a = peers_.intern(bare_peer(2));
  const PeerId b = peers_.intern(bare_peer(3));
  EXPECT_NE(a, b);
  EXPECT_EQ(peers_.intern(bare_peer(2)), a);
  EXPECT_EQ(peers_.find(a)->refs.all, 2u);
  EXPECT_EQ(peers_.ids(), (std::vector<PeerId>{a, b}));
  peers_.check();
}

TEST_F(PeerTableTest, a_peer_is_found_by_what_was_given_and_not_by_what_it_has_told) {
  const PeerId a = peers_.intern(bare_peer(2));
  peers_.find(a)->description.planes[1].port = 9;
  EXPECT_EQ(peers_.intern(bare_peer(2)), a);
}

TEST_F(PeerTableTest, the_last_reference_destroys_it_and_its_id_is_used_again) {
  const PeerId a = peers_.intern(bare_peer(2));
  peers_.add_reference(peers_.find(a));
  peers_.release(a);
  EXPECT_NE(peers_.find(a), nullptr);
  EXPECT_TRUE(observer_.gone.empty());
  peers_.release(a);
  EXPECT_EQ(peers_.find(a), nullptr);
  EXPECT_EQ(observer_.gone, (std::vector<PeerId>{a}));
  peers_.release(a);         // nothing is there
  peers_.release(a + 1000);  // nor was ever
  EXPECT_EQ(peers_.intern(bare_peer(5)), a);
}

TEST_F(PeerTableTest, a_peer_is_left_when_only_tombstones_refer_to_it) {
  const PeerId a = peers_.intern(bare_peer(2));
  EXPECT_FALSE(peers_.find(a)->left());
  peers_.add_tombstone(a);
  EXPECT_FALSE(peers_.find(a)->left());
  peers_.release(a);
  EXPECT_TRUE(peers_.find(a)->left());
  EXPECT_EQ(observer_.left, (std::vector<PeerId>{a}));
  EXPECT_TRUE(observer_.gone.empty());
  peers_.check();
  peers_.release_tombstone(a);
  EXPECT_EQ(peers_.find(a), nullptr);
  EXPECT_EQ(observer_.gone, (std::vector<PeerId>{a}));
}

TEST_F(PeerTableTest, a_tombstones_reference_that_goes_leaves_the_others) {
  const PeerId a = peers_.intern(bare_peer(2));
  peers_.add_tombstone(a);
  peers_.release_tombstone(a);
  ASSERT_NE(peers_.find(a), nullptr);
  EXPECT_EQ(peers_.find(a)->refs.all, 1u);
  EXPECT_TRUE(observer_.left.empty());
}

TEST_F(PeerTableTest, addresses_of_any_plane) {
  peers_.intern(bare_peer(2));
  EXPECT_TRUE(peers_.has_address(IpAddress::v4(10, 1, 0, 2)));
  EXPECT_FALSE(peers_.has_address(IpAddress::v4(10, 1, 0, 3)));
}

TEST_F(PeerTableTest, an_address_that_the_peer_reports_is_found_in_place_of_the_old_one) {
  const PeerId a = peers_.intern(bare_peer(2));
  ASSERT_TRUE(peers_.set_address(peers_.find(a), 1_plane, {IpAddress::v4(10, 1, 0, 7), 4791}));
  EXPECT_FALSE(peers_.has_address(IpAddress::v4(10, 1, 0, 2)));
  EXPECT_TRUE(peers_.has_address(IpAddress::v4(10, 1, 0, 7)));
  EXPECT_EQ(peers_.find(a)->description.planes[1].addr, IpAddress::v4(10, 1, 0, 7));
  EXPECT_EQ(peers_.intern(bare_peer(2)), a);
  peers_.release(a);
  peers_.release(a);
  EXPECT_FALSE(peers_.has_address(IpAddress::v4(10, 1, 0, 7)));
  peers_.check();
}

TEST_F(PeerTableTest, a_peer_is_visited_once_though_planes_share_its_address) {
  PeerDescription same = bare_peer(2);
  same.planes[1].addr = same.planes[0].addr;
  const PeerId a = peers_.intern(same);
  same.slot = 1;
  const PeerId b = peers_.intern(same);
  std::vector<PeerId> visited;
  EXPECT_EQ(peers_.find_at(same.planes[0].addr,
                           [&](const Peer& p) {
                             visited.push_back(p.id);
                             return false;
                           }),
            nullptr);
  EXPECT_EQ(visited, (std::vector<PeerId>{a, b}));
}

TEST_F(PeerTableTest, the_planes_of_this_host_are_known_to_a_new_peer) {
  engine_.planes_up = 0b10_planes;
  const PeerId a = peers_.intern(bare_peer(2));
  EXPECT_FALSE(peers_.find(a)->paths.plane_usable(0_plane));
  EXPECT_TRUE(peers_.find(a)->paths.plane_usable(1_plane));
}

}  // namespace
}  // namespace mrc::core
