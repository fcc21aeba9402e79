#include "core/source_ports.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace mrc::core {
namespace {

using Part = PeerSourcePorts::Part;

EndpointConfig table(uint32_t planes, std::initializer_list<EvEntry> evs) {
  EndpointConfig c;
  c.planes.resize(planes);
  c.evs = evs;
  return c;
}

wire::Spth part(uint16_t total, uint16_t first, uint16_t port, uint32_t set = 7) {  // ports rise by 2
  wire::Spth p;
  p.total = total;
  p.first = first;
  p.set = set;
  for (uint32_t i = 0; i < wire::Spth::kPorts && first + i < total; ++i)
    p.ports[i] = static_cast<uint16_t>(port + 2 * i);
  return p;
}

// [MRC-EXT-8]: the lower halves of the EVs, ascending, each once.
TEST(OwnSourcePorts, are_those_of_the_ev_table) {
  const OwnSourcePorts own(
      table(2, {{0x50009, 0_plane}, {7, 1_plane}, {3, 0_plane}, {0x10009, 0_plane}, {8, 1_plane}, {9, 3_plane}}));
  const wire::Spth p0 = own.part(0_plane, 0), p1 = own.part(1_plane, 0);
  EXPECT_EQ(p0.total, 2);
  EXPECT_EQ(p0.ports[0], 3);
  EXPECT_EQ(p0.ports[1], 9);
  EXPECT_EQ(p0.ports[2], 0);
  EXPECT_EQ(p1.total, 2);
  EXPECT_EQ(p1.ports[0], 7);
  EXPECT_EQ(p0.set, p1.set);
  EXPECT_EQ(own.part(2_plane, 0).total, 0);
  EXPECT_EQ(own.part(255_plane, 65535).total, 0);
}

TEST(OwnSourcePorts, another_table_is_another_set) {
  const uint32_t set = OwnSourcePorts(table(2, {{5, 0_plane}, {6, 1_plane}})).part(0_plane, 0).set;
  EXPECT_EQ(OwnSourcePorts(table(2, {{6, 1_plane}, {5, 0_plane}})).part(1_plane, 0).set, set);
  EXPECT_NE(OwnSourcePorts(table(2, {{5, 1_plane}, {6, 1_plane}})).part(0_plane, 0).set, set);
  EXPECT_NE(OwnSourcePorts(table(2, {{5, 0_plane}, {7, 1_plane}})).part(0_plane, 0).set, set);
}

TEST(OwnSourcePorts, long_lists_go_in_parts) {
  EndpointConfig c = table(1, {});
  for (uint32_t i = 0; i < 35; ++i) c.evs.push_back({1000 + i, 0_plane});
  const OwnSourcePorts own(c);
  EXPECT_EQ(own.part(0_plane, 0).total, 35);
  EXPECT_EQ(own.part(0_plane, 0).ports[33], 1033);
  EXPECT_EQ(own.part(0_plane, 34).ports[0], 1034);
  EXPECT_EQ(own.part(0_plane, 34).ports[1], 0);
  EXPECT_EQ(own.part(0_plane, 35).ports[0], 0);
}

// [MRC-EXT-10]
TEST(PeerSourcePorts, a_set_is_in_force_when_it_is_whole) {
  PeerSourcePorts p;
  p.begin();
  EXPECT_FALSE(p.announced());
  EXPECT_EQ(p.take(0_plane, 2, 2, part(35, 0, 100)), Part::kTaken);
  EXPECT_EQ(p.plane(), 0_plane);
  EXPECT_EQ(p.first(), 34);
  EXPECT_EQ(p.take(0_plane, 2, 2, part(35, 34, 200)), Part::kTaken);
  EXPECT_EQ(p.plane(), 1_plane);
  EXPECT_FALSE(p.announced());
  EXPECT_EQ(p.take(1_plane, 2, 2, part(1, 0, 50)), Part::kComplete);
  EXPECT_TRUE(p.announced());
  EXPECT_EQ(p.count(), 36u);
  EXPECT_TRUE(p.contains(0_plane, 100));
  EXPECT_TRUE(p.contains(0_plane, 200));
  EXPECT_TRUE(p.contains(1_plane, 50));
  EXPECT_FALSE(p.contains(1_plane, 100));
  EXPECT_FALSE(p.contains(0_plane, 101));
}

TEST(PeerSourcePorts, planes_beyond_ours_are_not_waited_for) {
  PeerSourcePorts p;
  p.begin();
  EXPECT_EQ(p.take(0_plane, 4, 1, part(1, 0, 50)), Part::kComplete);
}

TEST(PeerSourcePorts, a_plane_may_have_none) {
  PeerSourcePorts p;
  p.begin();
  EXPECT_EQ(p.take(0_plane, 2, 2, part(0, 0, 0)), Part::kTaken);
  EXPECT_EQ(p.take(1_plane, 2, 2, part(1, 0, 50)), Part::kComplete);
  EXPECT_FALSE(p.contains(0_plane, 50));
}

TEST(PeerSourcePorts, a_new_set_replaces_the_old_one_only_when_it_is_whole) {
  PeerSourcePorts p;
  p.begin();
  EXPECT_EQ(p.take(0_plane, 1, 1, part(1, 0, 50)), Part::kComplete);
  p.begin();
  EXPECT_EQ(p.take(0_plane, 2, 2, part(1, 0, 60, 8)), Part::kTaken);
  EXPECT_TRUE(p.contains(0_plane, 50));
  EXPECT_FALSE(p.contains(0_plane, 60));
  EXPECT_EQ(p.take(1_plane, 2, 2, part(1, 0, 70, 8)), Part::kComplete);
  EXPECT_FALSE(p.contains(0_plane, 50));
  EXPECT_TRUE(p.contains(0_plane, 60));
}

TEST(PeerSourcePorts, parts_of_two_sets_are_not_mixed) {
  PeerSourcePorts p;
  p.begin();
  EXPECT_EQ(p.take(0_plane, 2, 2, part(1, 0, 50, 7)), Part::kTaken);
  EXPECT_EQ(p.take(1_plane, 2, 2, part(1, 0, 60, 8)), Part::kRestarted);
  EXPECT_EQ(p.plane(), 0_plane);
  EXPECT_FALSE(p.announced());
  EXPECT_EQ(p.take(0_plane, 2, 2, part(1, 0, 80, 8)), Part::kTaken);
  EXPECT_EQ(p.take(1_plane, 2, 2, part(1, 0, 60, 8)), Part::kComplete);
  EXPECT_FALSE(p.contains(0_plane, 50));
}

// Messages of a hostile peer: nothing of them is accepted, and the part that is due stays the same.
TEST(PeerSourcePorts, malformed_parts_are_refused) {
  PeerSourcePorts p;
  p.begin();
  ASSERT_EQ(p.take(0_plane, 2, 2, part(40, 0, 1000)), Part::kTaken);
  wire::Spth equal = part(40, 34, 5000), zero = equal, below = part(40, 34, 900), overlap = part(40, 34, 1066);
  equal.ports[3] = equal.ports[2];
  zero.ports[5] = 0;
  for (const wire::Spth& bad : {equal, zero, below, overlap, part(40, 0, 1000), part(40, 33, 5000), part(40, 35, 5000),
                                part(34, 34, 5000), part(20, 34, 5000), part(65535, 34, 5000)}) {
    EXPECT_EQ(p.take(0_plane, 2, 2, bad), Part::kRefused);
    EXPECT_EQ(p.first(), 34);
  }
  EXPECT_EQ(p.take(1_plane, 2, 2, part(40, 34, 5000)), Part::kRefused);
  EXPECT_EQ(p.take(0_plane, 0, 2, part(40, 34, 5000)), Part::kRefused);
  EXPECT_EQ(p.take(0_plane, 2, 2, part(40, 34, 5000)), Part::kTaken);
}

TEST(PeerSourcePorts, an_empty_set_is_refused) {
  PeerSourcePorts p;
  p.begin();
  EXPECT_EQ(p.take(0_plane, 1, 1, part(0, 0, 0)), Part::kRefused);
  EXPECT_FALSE(p.announced());
  EXPECT_EQ(p.take(0_plane, 1, 1, part(1, 0, 5)), Part::kComplete);
}

TEST(PeerSourcePorts, as_many_as_the_limit_and_no_more) {
  for (const uint16_t total : {uint16_t{PeerSourcePorts::kMaxPorts}, uint16_t{PeerSourcePorts::kMaxPorts + 1}}) {
    PeerSourcePorts p;
    p.begin();
    Part last = Part::kTaken;
    for (uint16_t first = 0; last == Part::kTaken; first = p.first())
      last = p.take(0_plane, 1, 1, part(total, first, static_cast<uint16_t>(1 + 2 * first)));
    EXPECT_EQ(last, total > PeerSourcePorts::kMaxPorts ? Part::kRefused : Part::kComplete);
    EXPECT_EQ(p.count(), total > PeerSourcePorts::kMaxPorts ? 0u : total);
  }
}

}  // namespace
}  // namespace mrc::core
