#include "datapath/plane_turn.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::datapath {
namespace {

std::vector<int> next_order(PlaneTurn* turn, PlaneSet planes) {
  std::vector<int> order;
  turn->for_each(planes, [&](PlaneId p) { order.push_back(p.value()); });
  return order;
}

TEST(PlaneTurn, each_plane_is_the_first_in_turn) {
  PlaneTurn turn;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(next_order(&turn, 0b111_planes), (std::vector{0, 1, 2}));
    EXPECT_EQ(next_order(&turn, 0b111_planes), (std::vector{1, 2, 0}));
    EXPECT_EQ(next_order(&turn, 0b111_planes), (std::vector{2, 0, 1}));
  }
}

TEST(PlaneTurn, planes_that_are_left_out_cost_no_turn) {
  PlaneTurn turn;
  EXPECT_EQ(next_order(&turn, 0b10001_planes), (std::vector{0, 4}));
  EXPECT_EQ(next_order(&turn, 0b10001_planes), (std::vector{4, 0}));
  EXPECT_EQ(next_order(&turn, 0b00110_planes), (std::vector{1, 2}));
  EXPECT_EQ(next_order(&turn, PlaneSet()), std::vector<int>());
  EXPECT_EQ(next_order(&turn, 0b00110_planes), (std::vector{2, 1}));
}

TEST(PlaneTurn, the_last_plane_there_can_be_has_its_turn) {
  PlaneTurn turn;
  const PlaneSet both{plane_at(0), plane_at(PlaneSet::kMaxPlanes - 1)};
  EXPECT_EQ(next_order(&turn, both), (std::vector{0, 31}));
  EXPECT_EQ(next_order(&turn, both), (std::vector{31, 0}));
  EXPECT_EQ(next_order(&turn, both), (std::vector{0, 31}));
}

}  // namespace
}  // namespace mrc::datapath
