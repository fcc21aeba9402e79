// uSIDs in addresses and the plan that gives an entropy value its switches [MRC-SR-1..6].
#include "datapath/srv6/plan.h"

#include <gtest/gtest.h>

#include <set>

#include "harness/text.h"

namespace mrc::datapath {
namespace {

using testing_text::ip;

SegmentPath composed(const UsidList& via, const std::string& to) {
  return compose_path(via, ip(to)).value();
}

TEST(Usid, switches_stand_before_the_host) {
  const SegmentPath path = composed({0xF103, 0xE102}, "fcbb:bb01:201::");
  EXPECT_EQ(path.destination.to_string(), "fcbb:bb01:f103:e102:201::");
  EXPECT_FALSE(path.has_segment);
  EXPECT_EQ(composed({}, "fcbb:bb01:201::").destination, ip("fcbb:bb01:201::"));
}

TEST(Usid, each_switch_shifts_until_the_host_is_left) {
  IpAddress address = composed({0xF103, 0xE102, 1, 0xFFFF}, "fcbb:bb01:201:7::").destination;
  for (const char* after :
       {"fcbb:bb01:e102:1:ffff:201:7:0", "fcbb:bb01:1:ffff:201:7::", "fcbb:bb01:ffff:201:7::", "fcbb:bb01:201:7::"}) {
    address = shift_usid(address);
    EXPECT_EQ(address, ip(after));
  }
}

TEST(Usid, the_last_usid_ends_the_count_not_the_first_zero) {
  EXPECT_EQ(usid_count(ip("fcbb:bb01::")), 0u);
  EXPECT_EQ(usid_count(ip("fcbb:bb01:1::")), 1u);
  EXPECT_EQ(usid_count(ip("fcbb:bb01:1::9:0")), 5u);
  EXPECT_EQ(usid_count(ip("fcbb:bb01::9")), 6u);
}

TEST(Usid, six_fit_and_the_seventh_needs_a_segment) {
  EXPECT_EQ(composed({1, 2, 3, 4, 5}, "fc00:1:6::").destination, ip("fc00:1:1:2:3:4:5:6"));
  const SegmentPath seven = composed({1, 2, 3, 4, 5, 6}, "fc00:1:7::");
  EXPECT_TRUE(seven.has_segment);
  EXPECT_EQ(seven.destination, ip("fc00:1:1:2:3:4:5:6"));
  EXPECT_EQ(seven.segment, ip("fc00:1:7::"));
  const SegmentPath two_left = composed({1, 2, 3, 4, 5, 6, 7, 8}, "fc00:1:9:a::");
  EXPECT_EQ(two_left.destination, ip("fc00:1:1:2:3:4:5:6"));
  EXPECT_EQ(two_left.segment, ip("fc00:1:7:8:9:a::"));
  EXPECT_TRUE(compose_path(UsidList(11, 1), ip("fc00:1:2::")).has_value());
  EXPECT_FALSE(compose_path(UsidList(12, 1), ip("fc00:1:2::")).has_value());
}

// The plan of spec/srv6.md.
Srv6Plan::Text example() {
  Srv6Plan::Text text;
  text.paths =
      "fcbb:bb0{plane}:100::/40 direct\n"
      "fcbb:bb0{plane}:200::/40 via f{plane}{uplink:2}:e{plane}02\n";
  text.loop = "f{plane}{uplink:2}:e{plane}01";
  text.uplinks = 4;
  return text;
}

std::shared_ptr<const Srv6Plan> parsed(const Srv6Plan::Text& text, uint32_t planes = 2) {
  const auto plan = Srv6Plan::parse(text, planes);
  EXPECT_TRUE(plan) << plan.error().text;
  return plan ? *plan : nullptr;
}

// How many different paths the entropy values of a plane take to an address.
size_t count_paths(const Srv6Plan& plan, PlaneId plane, const IpAddress& to) {
  std::set<std::string> different;
  for (uint32_t n = 0; n < 16; ++n) different.insert(plan.path(plane, n, to).destination.to_string());
  return different.size();
}

TEST(Srv6Plan, the_example_of_the_specification) {
  auto plan = parsed(example());
  EXPECT_EQ(plan->path(0_plane, 2, ip("fcbb:bb01:201::")).destination, ip("fcbb:bb01:f103:e102:201::"));
  EXPECT_EQ(plan->path(1_plane, 0, ip("fcbb:bb02:207::")).destination, ip("fcbb:bb02:f201:e202:207::"));
  EXPECT_EQ(plan->path(0_plane, 2, ip("fcbb:bb01:102::")).destination, ip("fcbb:bb01:102::"));
  EXPECT_EQ(count_paths(*plan, 0_plane, ip("fcbb:bb01:201::")), 4u);
  EXPECT_EQ(count_paths(*plan, 0_plane, ip("fcbb:bb01:102::")), 1u);
  const std::vector<SegmentPath> loops = plan->loops(1_plane, ip("fcbb:bb02:101::"));
  ASSERT_EQ(loops.size(), 4u);
  EXPECT_EQ(loops[3].destination, ip("fcbb:bb02:f204:e201:101::"));
}

TEST(Srv6Plan, entropy_values_take_the_paths_in_turn) {
  auto plan = parsed(example());
  std::set<std::string> different;
  for (uint32_t n = 0; n < 8; ++n) {
    const IpAddress way = plan->path(0_plane, n, ip("fcbb:bb01:201::")).destination;
    EXPECT_EQ(way, plan->path(0_plane, n + 4, ip("fcbb:bb01:201::")).destination);
    different.insert(way.to_string());
  }
  EXPECT_EQ(different.size(), 4u);
}

TEST(Srv6Plan, the_longest_prefix_counts_whatever_the_order) {
  Srv6Plan::Text text;
  text.paths = "::/0 via 1 ; fc00:1::/32 via 2 ; fc00:1:8000::/33 via 3; fc00:1:8000::/34 via 4; fc00:1:9::/128 direct";
  auto plan = parsed(text, 1);
  const auto first = [&](const char* to) { return plan->path(0_plane, 0, ip(to)).destination; };
  EXPECT_EQ(first("fd00:1:5::"), ip("fd00:1:1:5::"));
  EXPECT_EQ(first("fc00:1:7fff::"), ip("fc00:1:2:7fff::"));
  EXPECT_EQ(first("fc00:1:c000::"), ip("fc00:1:3:c000::"));
  EXPECT_EQ(first("fc00:1:8001::"), ip("fc00:1:4:8001::"));
  EXPECT_EQ(first("fc00:1:9::"), ip("fc00:1:9::"));
}

TEST(Srv6Plan, rules_of_one_prefix_add_their_paths) {
  Srv6Plan::Text text;
  text.paths = "fc00:1::/32 via a:b\nfc00:1::/32 via c\nfc00:1::/32 direct";
  auto plan = parsed(text, 1);
  const IpAddress to = ip("fc00:1:5::");
  EXPECT_EQ(count_paths(*plan, 0_plane, to), 3u);
  EXPECT_EQ(plan->path(0_plane, 0, to).destination, ip("fc00:1:a:b:5::"));
  EXPECT_EQ(plan->path(0_plane, 1, to).destination, ip("fc00:1:c:5::"));
  EXPECT_EQ(plan->path(0_plane, 2, to).destination, to);
}

TEST(Srv6Plan, a_destination_without_a_rule_has_one_direct_path) {
  auto plan = parsed(example());
  for (const char* to : {"fcbb:bb01:300::", "::1", "127.0.0.1"}) {
    EXPECT_EQ(plan->path(0_plane, 3, ip(to)).destination, ip(to));
    EXPECT_EQ(count_paths(*plan, 0_plane, ip(to)), 1u);
  }
  EXPECT_EQ(plan->path(7_plane, 0, ip("fcbb:bb01:201::")).destination, ip("fcbb:bb01:201::"));
  EXPECT_TRUE(parsed({})->loops(0_plane, ip("fcbb:bb01:101::")).empty());
}

TEST(Srv6Plan, max_path_count__over_all_rules_and_planes) {
  EXPECT_EQ(parsed(example())->max_path_count(), 4u);
  EXPECT_EQ(parsed({})->max_path_count(), 1u);
  Srv6Plan::Text text;
  text.paths = "fc00:1::/32 direct; fc00:2::/32 via 1; fc00:2::/32 via 2; fc00:2::/32 via 3";
  EXPECT_EQ(parsed(text)->max_path_count(), 3u);
}

TEST(Srv6Plan, loops_follow_the_hosts_own_address) {
  Srv6Plan::Text text;
  text.loop = "fc00:1:1000::/36 via 14:18:14; fc00:1:1000::/36 via 14:19:14; fc00:1::/36 via 4:8:4";
  auto plan = parsed(text, 2);
  const std::vector<SegmentPath> one = plan->loops(0_plane, ip("fc00:1:c::")),
                                 two = plan->loops(1_plane, ip("fc00:1:100c::"));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].destination, ip("fc00:1:4:8:4:c::"));
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[1].destination, ip("fc00:1:14:19:14:100c::"));
  EXPECT_TRUE(plan->loops(0_plane, ip("fc00:2:c::")).empty());
}

TEST(Srv6Plan, says_what_is_wrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"fc00::/32", "neither 'PREFIX/LENGTH via USIDS'"},
      {"fc00::/32 via", "neither"},
      {"fc00::/32 direct 1", "neither"},
      {"fc00::/32 via 1 2", "neither"},
      {"fc00:: via 1", "not an IPv6 prefix"},
      {"fc00::/129 via 1", "not an IPv6 prefix"},
      {"10.0.0.0/8 via 1", "not an IPv6 prefix"},
      {"fc00::1/64 via 1", "bits behind its length"},
      {"fc00:{uplink}::/32 via 1", "no uplink"},
      {"fc00::/32 via 0", "'0' is not a uSID"},
      {"fc00::/32 via 10000", "'10000' is not a uSID"},
      {"fc00::/32 via 1::2", "'' is not a uSID"},
      {"fc00::/32 via 1:", "'' is not a uSID"},
      {"fc00::/32 via 1:2:3:4:5:6:7:8:9:a:b:c", "not a list of 1 to 11"},
      {"fc00::/32 via {row}", "'{row}' is neither"},
      {"fc00::/32 via {plane:5}", "'{plane:5}' is neither"},
      {"fc00::/32 via {plane", "'{plane' is neither"},
      {"fc00::/32 via {}", "'{}' is neither"},
      {"fc00::/32 via {", "'{' is neither"},
  };
  for (const auto& [rule, expected] : wrong) {
    Srv6Plan::Text text;
    text.paths = rule;
    const auto plan = Srv6Plan::parse(text, 1);
    ASSERT_FALSE(plan) << rule;
    EXPECT_NE(plan.error().text.find(expected), std::string::npos) << rule << ": " << plan.error().text;
  }
  Srv6Plan::Text loop;
  loop.loop = "f00:";
  EXPECT_FALSE(Srv6Plan::parse(loop, 1));
}

TEST(Srv6Plan, numbers_that_outgrow_their_place_are_refused) {
  Srv6Plan::Text text = example();
  text.uplinks = 256;
  const auto plan = Srv6Plan::parse(text, 2);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().text.find("'f1100' is not a uSID"), std::string::npos) << plan.error().text;
  text.uplinks = 255;
  EXPECT_TRUE(Srv6Plan::parse(text, 2));
}

}  // namespace
}  // namespace mrc::datapath
