// Judging paths and naming what is at fault, on both sides of each threshold. [MRC-MON-1..3]
#include "judge.h"

#include <gtest/gtest.h>

#include "at.h"

namespace mrc::mrcd {
namespace {

// A path with a clock of its own: a probe every 10 ms.
struct Path {
  explicit Path(const JudgeConfig& config = {}) : judge(config) {}
  bool add(bool answered) { return judge.add(at(now += 10), answered); }
  void good(uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) add(true);
  }
  // Every n-th of `total` is lost.
  void gray(uint32_t n, uint32_t total) {
    for (uint32_t i = 1; i <= total; ++i) add(i % n != 0);
  }
  PathJudge judge;
  int64_t now = 0;
};

// With a threshold of half of all probes only the run counts.
TEST(PathJudge, dead__after_so_many_in_a_row) {
  JudgeConfig config;
  config.loss = 0.5;
  Path path(config);
  path.good(config.window);
  for (uint32_t i = 0; i + 1 < config.dead; ++i) EXPECT_FALSE(path.add(false));
  path.add(true);
  for (uint32_t i = 0; i + 1 < config.dead; ++i) EXPECT_FALSE(path.add(false));
  EXPECT_TRUE(path.add(false));
  EXPECT_TRUE(path.judge.bad());
  EXPECT_EQ(path.judge.worst(), 1);
}

TEST(PathJudge, suspicion__half_way_to_dead) {
  JudgeConfig config;
  Path path(config);
  path.good(config.window);
  for (uint32_t i = 0; i < config.dead / 2; ++i) {
    EXPECT_LT(path.judge.suspicion(), 0.02);
    path.add(false);
  }
  EXPECT_EQ(path.judge.suspicion(), 1);
  EXPECT_FALSE(path.judge.bad());
}

TEST(PathJudge, dead__from_the_first_probe) {
  Path path;
  uint32_t probes = 1;
  while (!path.add(false)) ++probes;
  EXPECT_LE(probes, JudgeConfig().dead);
  EXPECT_TRUE(path.judge.bad());
}

// 2 % of 400 are 8.
TEST(PathJudge, gray__at_the_threshold_and_below) {
  Path below, at_it;
  below.good(400);
  below.gray(58, 4000);  // at most 7 of any 400
  EXPECT_FALSE(below.judge.bad());
  at_it.good(400);
  at_it.gray(50, 400);
  EXPECT_TRUE(at_it.judge.bad());
}

TEST(PathJudge, gray__of_few_probes_twice_as_many_must_be_lost) {
  Path path;
  path.good(94);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(path.add(false));
    path.add(true);
  }
  EXPECT_TRUE(path.add(false));
}

TEST(PathJudge, gray__five_percent_is_found_within_its_window) {
  Path path;
  path.gray(20, JudgeConfig().window);
  EXPECT_TRUE(path.judge.bad());
  EXPECT_NEAR(path.judge.worst(), 0.05, 0.02);
}

TEST(PathJudge, a_few_lost_ones_are_chance) {
  Path path;
  path.add(false);
  path.good(20);
  path.add(false);
  path.good(20);
  path.add(false);
  path.good(20);
  EXPECT_FALSE(path.judge.bad());
}

// [MRC-MON-2]
TEST(PathJudge, a_dead_path_is_believed_after_a_few_answers) {
  Path path;
  path.good(400);
  for (int i = 0; i < 100; ++i) path.add(false);
  ASSERT_TRUE(path.judge.bad());
  EXPECT_EQ(path.judge.needed(), 7u);
  path.good(6);
  EXPECT_TRUE(path.judge.bad());
  EXPECT_TRUE(path.add(true));
  EXPECT_FALSE(path.judge.bad());
}

// [MRC-MON-2]
TEST(PathJudge, a_gray_path_is_believed_after_hundreds) {
  Path path;
  path.good(400);
  path.gray(20, 400);
  ASSERT_TRUE(path.judge.bad());
  const uint32_t needed = path.judge.needed();
  EXPECT_GT(needed, 100u);
  path.good(needed - 1);
  EXPECT_TRUE(path.judge.bad());
  path.add(false);  // begins again
  path.good(path.judge.needed() - 1);
  EXPECT_TRUE(path.judge.bad());
  path.add(true);
  EXPECT_FALSE(path.judge.bad());
}

// [MRC-MON-2]
TEST(PathJudge, a_path_that_relapses_shows_twice_as_many) {
  Path path;
  path.good(10);
  for (uint32_t expected : {7u, 14u, 28u, 56u}) {
    for (int i = 0; i < 20; ++i) path.add(false);
    EXPECT_EQ(path.judge.needed(), expected);
    path.good(expected);
    ASSERT_FALSE(path.judge.bad());
  }
  path.good(static_cast<uint32_t>(JudgeConfig().relapse.ns() / 10000000) + 1);
  for (int i = 0; i < 20; ++i) path.add(false);
  EXPECT_EQ(path.judge.needed(), 7u);
}

TEST(PathJudge, old_probes_say_nothing) {
  PathJudge judge({});
  for (int i = 0; i < 5; ++i) judge.add(at(i), false);
  EXPECT_FALSE(judge.bad());
  judge.add(at(1000 * 61), true);
  EXPECT_EQ(judge.probes(), 1u);
  EXPECT_EQ(judge.loss(), 0);
}

Observation loop(const char* host, const char* t0, const char* t1, bool bad) {
  return {1, host, t0, t1, t0, host, bad, bad ? 0.05 : 0};
}

std::vector<std::string> texts(const std::vector<Observation>& all) {
  std::vector<std::string> names;
  for (const Finding& f : localise(all)) names.push_back(f.text().substr(0, f.text().find(" (")));
  return names;
}

using Names = std::vector<std::string>;

TEST(Localise, nothing_where_all_is_good) {
  EXPECT_EQ(texts({}), Names());
  EXPECT_EQ(texts({loop("h1", "a", "", false), loop("h1", "a", "x", false), loop("h1", "a", "y", false)}), Names());
}

TEST(Localise, one_t1_bad_from_the_only_t0_that_tells) {
  EXPECT_EQ(texts({loop("h1", "a", "", false), loop("h1", "a", "x", true), loop("h1", "a", "y", false)}),
            Names{"plane 1: link between T0 a and T1 x"});
}

TEST(Localise, one_t1_bad_from_all_t0s_and_from_one_of_two) {
  std::vector<Observation> all = {loop("h1", "a", "", false), loop("h1", "a", "x", true), loop("h1", "a", "y", false),
                                  loop("h2", "b", "", false), loop("h2", "b", "x", true), loop("h2", "b", "y", false)};
  EXPECT_EQ(texts(all), Names{"plane 1: T1 x"});
  all[4].bad = false;
  EXPECT_EQ(texts(all), Names{"plane 1: link between T0 a and T1 x"});
}

TEST(Localise, all_bad_from_one_host_is_its_link) {
  std::vector<Observation> all = {loop("h1", "a", "", true), loop("h1", "a", "x", true)};
  EXPECT_EQ(texts(all), Names{"plane 1: link of host h1 to T0 a, or that T0"});
  all.push_back(loop("h2", "a", "", false));
  all.push_back(loop("h2", "a", "x", false));
  EXPECT_EQ(texts(all), Names{"plane 1: link of host h1 to T0 a"});
  all[2].bad = all[3].bad = true;
  EXPECT_EQ(texts(all), Names{"plane 1: T0 a"});
}

// A host that receives nothing at all gives no information about the switches above.
TEST(Localise, a_cut_host_accuses_no_t1) {
  EXPECT_EQ(texts({loop("h1", "a", "", true), loop("h1", "a", "x", true), loop("h2", "b", "", false),
                   loop("h2", "b", "x", true), loop("h2", "b", "y", false)}),
            (Names{"plane 1: link of host h1 to T0 a, or that T0", "plane 1: link between T0 b and T1 x"}));
}

// A lossy cable shows on one path after the other: neither the first nor the last of them accuses a T1.
TEST(Localise, a_lossy_cable_accuses_no_t1) {
  std::vector<Observation> all = {loop("h1", "a", "", false), loop("h1", "a", "x", true), loop("h1", "a", "y", false)};
  all[0].loss = 0.024;  // x loses 5 %
  EXPECT_EQ(texts(all), Names{"plane 1: link between T0 a and T1 x"});
  all[0].loss = 0.025;
  EXPECT_EQ(texts(all), Names());
  all[0].bad = true;
  EXPECT_EQ(texts(all), Names{"plane 1: link of host h1 to T0 a, or that T0"});
}

// Paths from end to end, as preflight sees them: h1, h2 below a, h3 below b, h4 below c.
TEST(Localise, end_to_end) {
  std::vector<Observation> all;
  struct End {
    std::string host, t0;
  };
  const auto fill = [&](auto&& broken) {
    const End hosts[] = {{"h1", "a"}, {"h2", "a"}, {"h3", "b"}, {"h4", "c"}};
    all.clear();
    for (const End& from : hosts)
      for (const End& to : hosts) {
        if (from.host == to.host) continue;
        for (const std::string t1 : {"x", "y"})
          all.push_back({1, from.host, from.t0, from.t0 == to.t0 ? "" : t1, to.t0, to.host, broken(from, to, t1), 1.0});
      }
  };
  fill([](const End& from, const End& to, const std::string& t1) {
    return t1 == "x" && from.t0 != to.t0 && (from.t0 == "b" || to.t0 == "b");
  });
  EXPECT_EQ(texts(all), Names{"plane 1: link between T0 b and T1 x"});
  fill([](const End& from, const End& to, const std::string& t1) { return t1 == "x" && from.t0 != to.t0; });
  EXPECT_EQ(texts(all), Names{"plane 1: T1 x"});
  fill([](const End& from, const End& to, const std::string&) { return from.host == "h2" || to.host == "h2"; });
  EXPECT_EQ(texts(all), Names{"plane 1: link of host h2 to T0 a"});
}

TEST(Localise, planes_are_judged_apart) {
  std::vector<Observation> all = {loop("h1", "a", "x", true), loop("h1", "a", "y", false)};
  all.push_back(all[0]);
  all.back().plane = 2;
  all.push_back(all[1]);
  all.back().plane = 2;
  all[2].bad = false;
  EXPECT_EQ(texts(all), Names{"plane 1: link between T0 a and T1 x"});
}

}  // namespace
}  // namespace mrc::mrcd
