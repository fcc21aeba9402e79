// The denies for each finding. [MRC-MON-5] [MRC-MON-6]
#include "policy.h"

#include <gtest/gtest.h>

#include "shared_device.h"

namespace mrc::mrcd {
namespace {

using Part = Finding::Part;

Finding finding(Part part, uint32_t plane, const char* host, const char* t0, const char* t1) {
  return {part, plane, host, t0, t1, false, 0.05};
}

const std::vector<OwnPlane> kOwn = {{"e101", 2}, {"e201", 2}};

std::vector<std::string> texts(const std::vector<Finding>& findings) {
  std::vector<std::string> all;
  for (const ctl::DenyRule& rule : denies_for(findings, "h1", kOwn)) {
    EXPECT_EQ(rule.by, kMonitor);
    EXPECT_FALSE(rule.why.empty());
    all.push_back(ctl::deny_text(rule));
  }
  return all;
}

using Texts = std::vector<std::string>;

TEST(Policy, each_part_has_its_rule) {
  EXPECT_EQ(texts({finding(Part::kHostLink, 1, "h1", "e101", "")}), Texts{"plane 1"});
  EXPECT_EQ(texts({finding(Part::kHostLink, 1, "h9", "e102", "")}), Texts());  // not ours to act on
  EXPECT_EQ(texts({finding(Part::kT0, 2, "", "e201", "")}), Texts{"plane 2"});
  EXPECT_EQ(texts({finding(Part::kT0, 1, "", "e102", "")}), Texts{"plane 1, via e102"});
  EXPECT_EQ(texts({finding(Part::kT1, 1, "", "", "f102")}), Texts{"plane 1, via f102"});
  EXPECT_EQ(texts({finding(Part::kLink, 1, "", "e101", "f102")}), Texts{"plane 1, via f102"});
  EXPECT_EQ(texts({finding(Part::kLink, 1, "", "e102", "f102")}), Texts{"plane 1, via f102:e102"});
}

// [MRC-MON-6]
TEST(Policy, never_everything) {
  const Finding here = finding(Part::kHostLink, 1, "h1", "e101", "");
  const Finding there = finding(Part::kHostLink, 2, "h1", "e201", "");
  EXPECT_EQ(texts({here}).size(), 1u);
  EXPECT_EQ(texts({here, there}), Texts());
  std::vector<Finding> t1s = {here, finding(Part::kT1, 2, "", "", "f201")};
  EXPECT_EQ(texts(t1s).size(), 2u);
  t1s.push_back(finding(Part::kLink, 2, "", "e201", "f202"));  // nothing is left above our T0 of plane 2
  EXPECT_EQ(texts(t1s), Texts());
}

// [MRC-MON-6] What carries nothing already is no plane to fall back on.
TEST(Policy, never_what_is_left_beside_a_plane_that_is_off) {
  const Finding here = finding(Part::kHostLink, 1, "h1", "e101", "");
  std::vector<OwnPlane> own = kOwn;
  own[1].out = true;
  EXPECT_TRUE(denies_for({here}, "h1", own).empty());
  EXPECT_TRUE(
      denies_for({finding(Part::kT1, 1, "", "", "f101"), finding(Part::kT1, 1, "", "", "f102")}, "h1", own).empty());
  EXPECT_EQ(denies_for({finding(Part::kT1, 1, "", "", "f101")}, "h1", own).size(), 1u);
}

// [MRC-MON-6] Two T0s that are bad below the same hosts on all planes: these hosts stay reachable in any case.
TEST(Policy, never_all_ways_to_a_host) {
  Finding first = finding(Part::kT0, 1, "", "e102", ""), second = finding(Part::kT0, 2, "", "e202", "");
  first.hosts = {"h3", "h4"};
  second.hosts = {"h5"};
  EXPECT_EQ(texts({first, second}), (Texts{"plane 1, via e102", "plane 2, via e202"}));
  second.hosts = {"h5", "h3"};
  EXPECT_EQ(texts({first, second}), Texts());
  std::vector<OwnPlane> own = kOwn;
  own[1].out = true;
  EXPECT_TRUE(denies_for({first}, "h1", own).empty());
}

TEST(Policy, names_that_are_no_usids_deny_nothing) {
  EXPECT_EQ(texts({finding(Part::kT1, 1, "", "", "spine")}), Texts());
  EXPECT_EQ(texts({finding(Part::kT1, 9, "", "", "f102")}), Texts());
}

TEST(Policy, a_change_leaves_the_rules_of_people_alone) {
  ctl::DenyRule mine, theirs, wanted;
  mine.plane = 1;
  mine.by = kMonitor;
  theirs.plane = 2;
  theirs.by = "root";
  wanted.plane = 2;
  wanted.via = {0xf201};
  wanted.by = kMonitor;
  const DenyChange change = change_to({wanted}, {mine, theirs});
  ASSERT_EQ(change.add.size(), 1u);
  EXPECT_TRUE(change.add[0].same_paths(wanted));
  ASSERT_EQ(change.remove.size(), 1u);
  EXPECT_TRUE(change.remove[0].same_paths(mine));
  EXPECT_TRUE(change_to({mine}, {mine}).add.empty());
  EXPECT_TRUE(change_to({theirs}, {theirs}).add.empty());  // denied already, by whomever
}

}  // namespace
}  // namespace mrc::mrcd
