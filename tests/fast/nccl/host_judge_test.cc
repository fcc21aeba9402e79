// What a preflight of nccl-net-bench concludes from its measurements.
#include "host_judge.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mrc::net_bench {

namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

// All pairs of `n` hosts at 10 Gb/s each way and 20 us.
std::vector<PairSpeed> fabric(int n) {
  std::vector<PairSpeed> pairs;
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) {
      PairSpeed p;
      p.a = a, p.b = b, p.a_to_b = p.b_to_a = 10, p.rtt_us = 20;
      pairs.push_back(p);
    }
  return pairs;
}

Names names(int n) {
  Names all;
  for (int i = 0; i < n; ++i) all.push_back("n" + std::to_string(i));
  return all;
}

Json facts(const std::string& mtu, const std::string& address) {
  return {{"compare", {{"kernel", "Linux 6"}, {"mrc0 plane 1 MTU", mtu}}}, {"addresses", {{"mrc0 plane 1", address}}}};
}

}  // namespace

TEST(HostJudge, alike_hosts_are_well) {
  for (int n : {2, 3, 4, 16}) {
    EXPECT_TRUE(judge_pairs(names(n), fabric(n), {}).empty());
    EXPECT_TRUE(suspects(fabric(n), n).empty());
  }
}

TEST(HostJudge, a_slow_host_is_named_and_measured_again_with_three_others) {
  for (int n : {3, 4, 16}) {
    for (double rate : {4.9, 5.1}) {  // both sides of the bound
      std::vector<PairSpeed> pairs = fabric(n);
      for (PairSpeed& p : pairs)
        if (p.b == 1 || p.a == 1) (p.a == 1 ? p.a_to_b : p.b_to_a) = rate;  // sends slowly, receives well
      const std::vector<Finding> found = judge_pairs(names(n), pairs, {});
      ASSERT_EQ(found.size(), rate < 5 ? 1 : 0) << n;
      EXPECT_EQ(suspects(pairs, n).size(), rate < 5 ? static_cast<size_t>(std::min(n - 1, 3)) : 0u);
      if (found.empty()) continue;
      EXPECT_EQ(found[0].kind, "slow host");
      EXPECT_EQ(found[0].text.find("n1 sends at 4.90 Gb/s"), 0u) << found[0].text;
      EXPECT_EQ(found[0].text.find("receives"), std::string::npos) << found[0].text;
    }
  }
}

TEST(HostJudge, a_host_that_is_fast_when_measured_again_is_slow_only_while_others_send) {
  for (double rate : {4.9, 5.1}) {
    std::vector<PairSpeed> pairs = fabric(16);
    for (PairSpeed& p : pairs)
      if (p.b == 1 || p.a == 1) p.a_to_b = p.b_to_a = 1;
    std::vector<PairSpeed> again;
    for (const auto& [a, b] : suspects(pairs, 16)) {
      EXPECT_TRUE(a == 1 || b == 1);
      PairSpeed p = fabric(16)[0];
      p.a = a, p.b = b, p.a_to_b = p.b_to_a = rate;
      EXPECT_EQ(is_well(p, pairs, 16), rate > 5);
      again.push_back(p);
    }
    ASSERT_EQ(again.size(), 3u);
    const std::vector<Finding> found = judge_pairs(names(16), pairs, again);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kind, rate < 5 ? "slow host" : kSlowUnderLoad);
    const char* const text =
        rate < 5 ? "n1 sends at 4.90 Gb/s" : "n1 is slow only while others send: sends at 1.00 Gb/s";
    EXPECT_EQ(found[0].text.find(text), 0u) << found[0].text;
    for (PairSpeed& p : again) p.a_to_b = p.b_to_a = rate < 5 ? 1.9 : 2.1;
    for (PairSpeed& p : pairs) p.a_to_b *= 0.2, p.b_to_a *= 0.2;  // a busy fabric: twice the host's own rate is needed
    for (PairSpeed& p : pairs)
      if (p.b == 1 || p.a == 1) p.a_to_b = p.b_to_a = 0.96;
    EXPECT_EQ(judge_pairs(names(16), pairs, again).at(0).kind, rate < 5 ? "slow host" : kSlowUnderLoad);
    again.resize(1);
    again[0].error = "no answer";  // then the first measurements count
    EXPECT_EQ(judge_pairs(names(16), pairs, again)[0].text.find("n1 sends at 0.96 Gb/s"), 0u);
  }
}

TEST(HostJudge, a_host_of_long_round_trips_is_slow) {
  for (double rtt : {219.0, 221.0}) {
    std::vector<PairSpeed> pairs = fabric(5);
    for (PairSpeed& p : pairs)
      if (p.b == 4) p.rtt_us = rtt;
    EXPECT_EQ(judge_pairs(names(5), pairs, {}).size(), rtt > 220 ? 1u : 0u);
  }
}

TEST(HostJudge, a_slow_pair_counts_when_it_is_slow_by_itself_too) {
  std::vector<PairSpeed> pairs = fabric(4);
  pairs[4].a_to_b = 1;  // 1 to 3
  ASSERT_EQ(suspects(pairs, 4), (std::vector<std::pair<int, int>>{{1, 3}}));
  PairSpeed again = pairs[4];
  const std::vector<Finding> found = judge_pairs(names(4), pairs, {again});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "slow pair");
  EXPECT_NE(found[0].text.find("n1 to n3 at 1.00 Gb/s"), std::string::npos) << found[0].text;
  again.a_to_b = 8;
  EXPECT_TRUE(judge_pairs(names(4), pairs, {again}).empty());
}

TEST(HostJudge, unreachable_hosts_and_broken_pairs) {
  EXPECT_TRUE(judge_pairs(names(4), {}, {}).empty()) << "nothing has been measured";
  std::vector<PairSpeed> pairs = fabric(4);
  for (PairSpeed& p : pairs)
    if (p.b == 3) p.error = "no answer";
  EXPECT_TRUE(suspects(pairs, 4).empty());
  std::vector<Finding> found = judge_pairs(names(4), pairs, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind + ": " + found[0].text, "unreachable host: n3 exchanges no data with any other host");
  pairs = fabric(16);
  for (PairSpeed& p : pairs)
    if (p.b == 15) p.error = "no answer", p.tried = p.a < 3;
  found = judge_pairs(names(16), pairs, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "n15 exchanges no data with any host that was tried (3 of 15)");
  pairs = fabric(4);
  pairs[0].error = "no answer";
  ASSERT_EQ(suspects(pairs, 4).size(), 1u);
  found = judge_pairs(names(4), pairs, {pairs[0]});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind + ": " + found[0].text, "broken pair: n0 and n1: no answer");
}

TEST(HostJudge, slow_hosts_do_not_hide_a_broken_pair) {
  std::vector<PairSpeed> pairs = fabric(16);
  for (PairSpeed& p : pairs) {
    if (p.a < 5) p.a_to_b = p.b_to_a = 1;  // more of them than the limit of their pairs
    if (p.a == 14) p.error = "no answer";
    if (p.a == 12 && p.b == 13) p.a_to_b = 1;
  }
  const std::vector<std::pair<int, int>> again = suspects(pairs, 16);
  ASSERT_EQ(again.size(), 1 + kMaxOfHostsAgain + 1);
  EXPECT_EQ(again.front(), std::pair(14, 15));
  EXPECT_EQ(again.back(), std::pair(12, 13));
}

TEST(HostJudge, failed_pairs_beyond_the_limit_are_named_by_their_first_measurement) {
  std::vector<PairSpeed> pairs = fabric(16);
  std::vector<PairSpeed> again;
  for (PairSpeed& p : pairs)
    if (p.a % 2 == 0 && p.b == p.a + 1) p.error = "no answer";
  for (const auto& [a, b] : suspects(pairs, 16)) {
    PairSpeed p = fabric(16)[0];
    p.a = a, p.b = b;
    again.push_back(p);
  }
  ASSERT_EQ(again.size(), kMaxFailedAgain);
  const std::vector<Finding> found = judge_pairs(names(16), pairs, again);  // those measured again were well
  ASSERT_EQ(found.size(), 8 - kMaxFailedAgain);
  EXPECT_EQ(found[0].kind + ": " + found[0].text, "broken pair: n8 and n9: no answer (measured once)");
}

// A well host that happens to have met the dead ones first is not given up.
TEST(HostJudge, a_host_is_given_up_when_it_has_failed_with_three_that_work) {
  const auto pair = [](int a, int b, const char* error) {
    PairSpeed p;
    p.a = a, p.b = b, p.error = error;
    return p;
  };
  std::vector<PairSpeed> pairs = {pair(1, 2, ""), pair(3, 4, ""), pair(0, 5, "no answer"), pair(0, 1, "no answer"),
                                  pair(0, 2, "no answer")};
  EXPECT_EQ(given_up(pairs, 7), std::vector<bool>(7));
  pairs.push_back(pair(0, 6, "no answer"));  // neither of them has worked
  EXPECT_EQ(given_up(pairs, 7), std::vector<bool>(7));
  pairs.push_back(pair(0, 3, "no answer"));
  std::vector<bool> first(7);
  first[0] = true;
  EXPECT_EQ(given_up(pairs, 7), first);
  pairs.push_back(pair(0, 4, ""));
  EXPECT_EQ(given_up(pairs, 7), std::vector<bool>(7));
}

TEST(HostJudge, the_clock_that_differs_from_most_is_named) {
  for (int wrong : {0, 2}) {
    std::vector<PairSpeed> pairs = fabric(4);
    for (PairSpeed& p : pairs) {
      if (p.a == wrong) p.clock_ahead_us = -2e6;
      if (p.b == wrong) p.clock_ahead_us = 2e6;
    }
    const std::vector<Finding> found = judge_pairs(names(4), pairs, {});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kind + ": " + found[0].text,
              "clock: n" + std::to_string(wrong) + ": its clock is 2000 ms ahead of the others");
  }
}

TEST(HostJudge, facts_that_differ_and_addresses_of_two_hosts) {
  EXPECT_TRUE(judge_facts(names(2), {facts("9000", "10.0.0.1"), facts("9000", "10.0.0.2")}).empty());
  const std::vector<Finding> found =
      judge_facts(names(3), {facts("9000", "10.0.0.1"), facts("1500", "10.0.0.2"), facts("9000", "10.0.0.1")});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].text, "n1: mrc0 plane 1 MTU is 1500, 9000 on 2 of 3 hosts");
  EXPECT_EQ(found[1].text, "n0, n2 have the same address, mrc0 plane 1: 10.0.0.1");
  EXPECT_TRUE(judge_facts(names(2), {facts("9000", "10.0.0.1"), Json()}).empty()) << "a host that has not reported";
}

}  // namespace mrc::net_bench
