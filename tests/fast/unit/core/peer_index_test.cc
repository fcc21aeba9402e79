// Peers by description and by address.
#include "core/peer_index.h"

#include "bare_engine.h"

namespace mrc::core {
namespace {

std::vector<PeerId> at(const PeerIndex& index, const IpAddress& addr) {
  const std::span<const PeerId> found = index.at(addr);
  return {found.begin(), found.end()};
}

TEST(PeerIndex, finds_by_every_part_of_the_description) {
  PeerIndex index;
  const PeerDescription given = bare_peer(2);
  index.add(7, given);
  EXPECT_EQ(index.find(bare_peer(2)), 7u);
  for (int part = 0; part < 6; ++part) {
    PeerDescription other = given;
    if (part == 0) other.planes[1].addr = IpAddress::v4(10, 1, 0, 3);
    if (part == 1) other.planes[1].port = 4792;
    if (part == 2) other.planes.pop_back();
    if (part == 3) other.learn = true;
    if (part == 4) other.slot = 1;
    if (part == 5) other.nic = true;
    EXPECT_EQ(index.find(other), kNoPeer) << part;
  }
}

TEST(PeerIndex, processes_of_one_host_share_its_addresses_in_the_order_of_their_ids) {
  PeerIndex index;
  std::vector<PeerDescription> given(3, bare_peer(2));
  for (const PeerId id : {2u, 0u, 1u}) {
    given[id].slot = static_cast<uint8_t>(id);
    index.add(id, given[id]);
  }
  EXPECT_EQ(at(index, IpAddress::v4(10, 1, 0, 2)), (std::vector<PeerId>{0, 1, 2}));
  index.remove(1, given[1], given[1]);
  EXPECT_EQ(at(index, IpAddress::v4(10, 1, 0, 2)), (std::vector<PeerId>{0, 2}));
  EXPECT_EQ(index.find(given[1]), kNoPeer);
}

TEST(PeerIndex, an_address_replaces_the_one_before) {
  PeerIndex index;
  PeerDescription given = bare_peer(2);
  given.planes[1].addr = IpAddress();
  index.add(1, given);
  EXPECT_EQ(index.addresses(), 1u);  // a plane that it lacks has none
  PeerDescription now = given;
  for (const uint8_t host : {5, 6}) {
    const IpAddress next = IpAddress::v4(10, 1, 0, host);
    index.replace(1, now.planes[1].addr, next);
    now.planes[1].addr = next;
  }
  EXPECT_EQ(at(index, IpAddress::v4(10, 1, 0, 5)), std::vector<PeerId>());
  EXPECT_EQ(at(index, IpAddress::v4(10, 1, 0, 6)), std::vector<PeerId>{1});
  EXPECT_EQ(index.addresses(), 2u);
  index.remove(1, given, now);
  EXPECT_EQ(index.addresses() + index.descriptions(), 0u);
}

TEST(PeerIndex, one_address_on_two_planes_stays_with_the_other_plane) {
  PeerIndex index;
  PeerDescription given = bare_peer(2);
  given.planes[1].addr = given.planes[0].addr;
  index.add(1, given);
  index.replace(1, given.planes[1].addr, IpAddress::v4(10, 1, 0, 9));
  EXPECT_EQ(at(index, given.planes[0].addr), std::vector<PeerId>{1});
}

}  // namespace
}  // namespace mrc::core
