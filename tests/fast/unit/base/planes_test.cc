#include "base/planes.h"

#include <gtest/gtest.h>

#include <sstream>
#include <type_traits>
#include <vector>

namespace mrc {
namespace {

std::vector<PlaneId> listed(PlaneSet s) {
  return {s.begin(), s.end()};
}

TEST(PlaneSet, members_come_and_go) {
  PlaneSet s;
  EXPECT_TRUE(s.empty());
  s.insert(0_plane);
  s.insert(31_plane);
  s.insert(31_plane);
  EXPECT_TRUE(s.contains(0_plane) && s.contains(31_plane));
  EXPECT_FALSE(s.contains(1_plane) || s.contains(30_plane));
  EXPECT_EQ(s.count(), 2);
  EXPECT_FALSE(s.empty());
  s.erase(0_plane);
  s.erase(5_plane);
  EXPECT_EQ(s, PlaneSet{31_plane});
  s.set(2_plane, true);
  s.set(31_plane, false);
  EXPECT_EQ(s, PlaneSet{2_plane});
  s.clear();
  EXPECT_EQ(s, PlaneSet());
}

TEST(PlaneSet, all_of_so_many_planes) {
  EXPECT_EQ(PlaneSet::all(0), PlaneSet());
  EXPECT_EQ(PlaneSet::all(1).mask(), 1u);
  EXPECT_EQ(PlaneSet::all(31).mask(), 0x7FFFFFFFu);
  EXPECT_EQ(PlaneSet::all(32).mask(), UINT32_MAX);
  EXPECT_EQ(PlaneSet::all(33).mask(), UINT32_MAX);
  EXPECT_EQ(PlaneSet::all(), PlaneSet::all(32));
}

TEST(PlaneSet, converts_by_name_only) {
  static_assert(!std::is_convertible_v<uint32_t, PlaneSet> && !std::is_constructible_v<PlaneSet, uint32_t>);
  static_assert(!std::is_convertible_v<PlaneSet, uint32_t> && !std::is_convertible_v<PlaneSet, bool>);
  EXPECT_EQ(PlaneSet::from_mask(0x80000001).mask(), 0x80000001u);
  EXPECT_EQ(PlaneSet::from_mask(0b101), (PlaneSet{0_plane, 2_plane}));
  EXPECT_EQ(0b101_planes, (PlaneSet{0_plane, 2_plane}));
}

TEST(PlaneSet, union_intersection_difference) {
  const PlaneSet a = 0b0011_planes, b = 0b0110_planes;
  EXPECT_EQ(a | b, 0b0111_planes);
  EXPECT_EQ(a & b, 0b0010_planes);
  EXPECT_EQ(a - b, 0b0001_planes);
  EXPECT_EQ(a ^ b, 0b0101_planes);
  PlaneSet s = a;
  s |= b;
  EXPECT_EQ(s, 0b0111_planes);
  s &= b;
  EXPECT_EQ(s, 0b0110_planes);
  s -= a;
  EXPECT_EQ(s, 0b0100_planes);
}

TEST(PlaneSet, compares_with_other_sets) {
  const PlaneSet s = 0b0110_planes;
  EXPECT_TRUE(s.contains_all(s) && s.contains_all(0b0010_planes) && s.contains_all({}));
  EXPECT_FALSE(s.contains_all(0b0011_planes));
  EXPECT_TRUE(PlaneSet().contains_all({}));
  EXPECT_TRUE(s.intersects(0b0011_planes));
  EXPECT_FALSE(s.intersects(0b1001_planes));
  EXPECT_FALSE(s.intersects({}));
}

TEST(PlaneSet, is_walked_in_ascending_order) {
  EXPECT_EQ(listed({}), std::vector<PlaneId>());
  EXPECT_EQ(listed({31_plane, 0_plane, 7_plane}), (std::vector<PlaneId>{0_plane, 7_plane, 31_plane}));
  EXPECT_EQ(listed(PlaneSet::all()).size(), 32u);
  EXPECT_EQ((PlaneSet{5_plane, 9_plane}.first()), 5_plane);
}

TEST(PlaneSet, may_lose_members_while_it_is_walked) {
  PlaneSet s = 0b1011_planes;
  std::vector<PlaneId> seen;
  for (const PlaneId p : s) {
    seen.push_back(p);
    s.erase(p);
  }
  EXPECT_EQ(seen, (std::vector<PlaneId>{0_plane, 1_plane, 3_plane}));
  EXPECT_TRUE(s.empty());
}

TEST(PlaneSet, is_printed_as_its_members) {
  std::ostringstream out;
  out << PlaneSet() << 0b101_planes;
  EXPECT_EQ(out.str(), "{}{0, 2}");
}

TEST(PerPlane, is_reached_by_plane) {
  PerPlane<int> v{10, 20, 30};
  EXPECT_EQ(v[1_plane], 20);
  v[2_plane] = 31;
  EXPECT_EQ(v.back(), 31);
  EXPECT_TRUE(v.has(2_plane));
  EXPECT_FALSE(v.has(3_plane));
  EXPECT_EQ(v.ids(), 0b111_planes);
  EXPECT_EQ(PerPlane<int>(40).ids(), PlaneSet::all());
}

TEST(PlaneId, ports_count_from_one_and_indices_from_zero) {
  EXPECT_EQ(plane_at(0), 0_plane);
  EXPECT_EQ(plane_of_port(1), 0_plane);
  EXPECT_EQ(plane_of_port(32), 31_plane);
  EXPECT_EQ(port_of(0_plane), 1u);
  EXPECT_EQ(port_of(31_plane), 32u);
}

}  // namespace
}  // namespace mrc
