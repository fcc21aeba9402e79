// Names, ports and links; and the tables of all nodes together: every path is followed through them.
#include "topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "two_planes.h"
#include "walk.h"

namespace mrc::fabric {
namespace {

using ::testing::HasSubstr;

TEST(Topology, names_are_their_own_inverse) {
  const Topology t = two_planes();
  EXPECT_EQ(t.nodes().size(), 13u);
  EXPECT_EQ(t.links().size(), 8u + 8u + 4u);
  for (const NodeId& n : t.nodes()) EXPECT_EQ(t.node(node_name(n)), n);
  for (const Link& l : t.links()) {
    EXPECT_EQ(&t.link(port_name(l.lower)), &l);
    EXPECT_EQ(&t.link(port_name(l.upper)), &l);
  }
  EXPECT_EQ(t.host("h3"), 3u);
  EXPECT_EQ(t.host("3"), 3u);
}

TEST(Topology, the_error_for_an_unknown_name_lists_the_known_ones) {
  const Topology t = two_planes();
  EXPECT_THAT(error_of([&] { t.node("p2-t0-0"); }), HasSubstr("P from 0 to 1"));
  EXPECT_THAT(error_of([&] { t.host("p0-t0-0"); }), HasSubstr("not a host"));
  EXPECT_THAT(error_of([&] { t.link("p0-t0-0:t1-2"); }), HasSubstr("it has h0, h1, t1-0, t1-1"));
  EXPECT_THAT(error_of([&] { t.link("h0"); }), HasSubstr("NODE:PORT"));
}

TEST(Topology, mac_addresses_are_distinct) {
  const Topology t(fabric_of(fabric_text("cluster64", 0)));
  std::set<std::string> seen;
  for (const Link& l : t.links())
    for (const Port* p : {&l.lower, &l.upper})
      EXPECT_TRUE(seen.insert(p->mac).second) << port_name(*p) << " " << p->mac;
}

TEST(Topology, interface_names_fit_the_kernel) {
  const Topology t(fabric_of("planes: 16\nt0: 30\nt1: 30\nnics_per_t0: 30\nusid: {plane_shift: 12}\n"));
  for (const Link& l : t.links())
    for (const Port* p : {&l.lower, &l.upper}) EXPECT_LE(p->name.size(), 15u);
}

// As hosts count them: entry n of a plane has label n + 1 and takes T1 n modulo the T1s. [MRC-SR-6]
TEST(Walk, an_ev_is_a_path_on_every_plane) {
  using Paths = std::vector<std::string>;
  const Topology t = two_planes();
  const uint32_t entries = (t.spec().ev.count + t.spec().ev.backups) / t.spec().planes;
  EXPECT_EQ(paths_of_ev(t, "0x0001"), (Paths{"0/0", "1/0"}));
  EXPECT_EQ(paths_of_ev(t, "0x0004:56938"), (Paths{"0/1", "1/1"}));
  EXPECT_EQ(paths_of_ev(t, "0x0004de6a"), (Paths{"0/1", "1/1"}));
  EXPECT_EQ(paths_of_ev(t, "0x0004:56938@2"), (Paths{"1/1"}));
  EXPECT_EQ(paths_of_ev(t, "0x3@1"), (Paths{"0/0"}));
  char last[16];
  std::snprintf(last, sizeof last, "0x%04x", entries);
  EXPECT_EQ(paths_of_ev(t, last).size(), 2u);
  std::snprintf(last, sizeof last, "0x%04x", entries + 1);
  for (const char* wrong : {"0x0000", static_cast<const char*>(last), "0x0001:", "0x0001@", "0x0001@0", "0x0001@3",
                            "0x0001:1@1x", "0x", "0x1/0", "0x10000:1"})
    EXPECT_THAT(error_of([&] { paths_of_ev(t, wrong); }), HasSubstr("LABEL or LABEL:PORT")) << wrong;
  for (const char* other : {"all", "0/1", "3", "fcbb:bb00::"}) EXPECT_TRUE(paths_of_ev(t, other).empty()) << other;
  const Topology ecmp(fabric_of("planes: 2\nswitch: {forwarding: ecmp}\n"));
  EXPECT_THAT(error_of([&] { paths_of_ev(ecmp, "0x0001"); }), HasSubstr("name no path"));
}

TEST(Walk, every_path_arrives_over_its_t1) {
  const Topology t = two_planes();
  const FabricSpec& f = t.spec();
  for (uint32_t p = 0; p < f.planes; ++p)
    for (uint32_t a = 0; a < f.nics(); ++a)
      for (uint32_t b = 0; b < f.nics(); ++b)
        for (uint32_t t1 = 0; a != b && t1 < f.t1; ++t1) {
          const Walk w = walk_packet(t, a, t.plan().path(p, a, t1, b));
          ASSERT_TRUE(w.arrived) << w.end;
          EXPECT_EQ(w.hops.back().node, (NodeId{Role::kHost, 0, b}));
          EXPECT_EQ(w.hops.back().in, "p" + std::to_string(p));
          const bool crosses = f.t0_of(a) != f.t0_of(b);
          ASSERT_EQ(w.hops.size(), crosses ? 5u : 3u);
          if (crosses) {
            EXPECT_EQ(w.hops[2].node, (NodeId{Role::kT1, p, t1}));
          }
        }
}

TEST(Walk, plain_addresses_arrive_on_their_plane) {
  for (const char* forwarding : {"", "switch: {forwarding: ecmp}\n"}) {
    const Topology t = two_planes(forwarding);
    for (uint32_t p = 0; p < 2; ++p) {
      const Walk w = walk_packet(t, 0, t.plan().nic_address(p, 3));
      EXPECT_TRUE(w.arrived) << w.end;
      EXPECT_EQ(w.hops.back().in, "p" + std::to_string(p));
      EXPECT_EQ(w.by_hash, *forwarding != 0);
    }
  }
}

TEST(Walk, says_why_a_packet_does_not_arrive) {
  const Topology t = two_planes();
  const IpAddress unknown_t1 = IpAddress::parse("fcbb:bb00:400:8ff::").value();
  const IpAddress other_block = IpAddress::parse("2001:db8::1").value();
  const IpAddress for_decap = IpAddress::parse("fcbb:bb00:400:801:401:c03:ffff::").value();
  EXPECT_THAT(walk_packet(t, 0, unknown_t1).end, HasSubstr("no table knows"));
  EXPECT_EQ(walk_packet(t, 0, other_block).end, "no route");
  EXPECT_EQ(walk_packet(t, 0, for_decap).end, "arrived, to be decapsulated");
}

TEST(Walk, a_list_that_ends_at_a_switch_is_for_the_switch) {
  const Topology t = two_planes();
  const IpAddress list = IpAddress::parse("fcbb:bb00:400:801::").value();
  const Walk w = walk_packet(t, 0, list);
  EXPECT_TRUE(w.arrived);
  EXPECT_EQ(w.hops.back().node, (NodeId{Role::kT1, 0, 1}));
}

TEST(Walk, paths_by_plane_and_t1_by_ev_and_by_address) {
  const Topology t = two_planes();
  EXPECT_EQ(choose_path(t, 0, 3, "1/1").destination.to_string(), "fcbb:bb00:1400:1801:1401:1c03::");
  EXPECT_EQ(choose_path(t, 0, 3, "fd00::5").destination.to_string(), "fd00::5");
  const char* in_turn[] = {"0/0", "1/0", "0/1", "1/1", "0/0"};  // MRC-SR-6
  for (int ev = 0; ev < 5; ++ev)
    EXPECT_EQ(choose_path(t, 0, 3, std::to_string(ev)).destination, choose_path(t, 0, 3, in_turn[ev]).destination);
  for (const char* wrong : {"2/0", "0/2", "0/", "x", "1000", "0/1x", ""})
    EXPECT_THAT(error_of([&] { choose_path(t, 0, 3, wrong); }), HasSubstr("allowed: PLANE/T1")) << wrong;
  EXPECT_THAT(error_of([&] { choose_path(t, 0, 3, "fd00::x"); }), HasSubstr("not an IPv6 address"));
}

}  // namespace
}  // namespace mrc::fabric
