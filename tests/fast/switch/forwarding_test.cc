// The tables of one switch: which way a frame goes, and as what [MRC-SW-5].
#include "forwarding.h"

#include <gtest/gtest.h>

#include <map>

#include "frames.h"

namespace mrc::softswitch {
namespace {

class ForwardingTest : public testing::Test {
 protected:
  ForwardingTest() {
    table_.set_own(ip("fcbb:bb00:400::"));
    table_.add_route(ip("fcbb:bb00:c00::"), 48, {0});
    table_.add_route(ip("fcbb:bb00:800::"), 48, {1});
    table_.add_route(ip("fcbb:bb00::"), 32, {});
    table_.add_route(ip("fd00:1::"), 32, {2});
    table_.add_route(ip("fd00:1:0:0::5"), 128, {3});
    table_.add_route(ip("fd00:2::"), 32, {4, 5, 6});
  }
  Frame* to(const std::string& destination, uint16_t source_port = 50000, uint8_t hop_limit = 64) {
    FrameSpec s;
    s.to = destination;
    s.source_port = source_port;
    s.hop_limit = hop_limit;
    return parsed(&pool_, s);
  }
  Decision decide(const std::string& destination) { return table_.decide(to(destination)); }

  FramePool pool_{2000, 10000};
  Forwarding table_;
};

TEST_F(ForwardingTest, the_longest_prefix_decides) {
  EXPECT_EQ(decide("fd00:1::5").port, 3);
  EXPECT_EQ(decide("fd00:1::6").port, 2);
  EXPECT_EQ(decide("fd00:9::6").verdict, Verdict::kNoRoute);
}

TEST_F(ForwardingTest, shifts_its_own_usid_and_looks_again) {
  Frame* f = to("fcbb:bb00:400:800:401:c01::");
  const Decision d = table_.decide(f);
  EXPECT_EQ(d.verdict, Verdict::kForward);
  EXPECT_EQ(d.port, 1);
  EXPECT_EQ(destination(*f), ip("fcbb:bb00:800:401:c01::"));
  EXPECT_EQ(hop_limit(*f), 63);
}

TEST_F(ForwardingTest, a_full_list_is_filled_with_zeros) {
  Frame* f = to("fcbb:bb00:400:800:3:4:5:6");
  table_.decide(f);
  EXPECT_EQ(destination(*f), ip("fcbb:bb00:800:3:4:5:6:0"));
}

TEST_F(ForwardingTest, a_list_of_another_is_forwarded_as_it_is) {
  Frame* f = to("fcbb:bb00:800:401::");
  EXPECT_EQ(table_.decide(f).port, 1);
  EXPECT_EQ(destination(*f), ip("fcbb:bb00:800:401::"));
}

TEST_F(ForwardingTest, unknown_usids_end_in_the_blackhole) {
  EXPECT_EQ(decide("fcbb:bb00:400:999::").verdict, Verdict::kNoRoute);
}

TEST_F(ForwardingTest, its_own_addresses_are_the_kernels) {
  for (const char* own : {"fe80::1", "ff02::1", "fcbb:bb00:400::"}) {
    Frame* f = to(own);
    EXPECT_EQ(table_.decide(f).verdict, Verdict::kLocal) << own;
    EXPECT_EQ(hop_limit(*f), 64);
  }
}

TEST_F(ForwardingTest, the_hop_limit_ends_at_one) {
  EXPECT_EQ(table_.decide(to("fd00:1::5", 1, 2)).verdict, Verdict::kForward);
  EXPECT_EQ(table_.decide(to("fd00:1::5", 1, 1)).verdict, Verdict::kHopLimit);
  EXPECT_EQ(table_.decide(to("fd00:1::5", 1, 0)).verdict, Verdict::kHopLimit);
}

TEST_F(ForwardingTest, flows_spread_over_the_ports_that_are_up) {
  const auto spread = [&] {
    std::map<uint16_t, int> seen;
    for (uint16_t port = 0; port < 3000; ++port) ++seen[table_.decide(to("fd00:2::1", port)).port];
    return seen;
  };
  std::map<uint16_t, int> seen = spread();
  ASSERT_EQ(seen.size(), 3u);
  for (const auto& [port, count] : seen) EXPECT_NEAR(count, 1000, 150) << port;
  table_.set_up(5, false);
  seen = spread();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen.count(5), 0u);
  table_.set_up(4, false);
  table_.set_up(6, false);
  EXPECT_EQ(decide("fd00:2::1").verdict, Verdict::kLinkDown);
  table_.set_up(5, true);
  EXPECT_EQ(decide("fd00:2::1").port, 5);
}

}  // namespace
}  // namespace mrc::softswitch
