// [MRC-EVS-5] [MRC-EVS-20] [MRC-PORT-1] [MRC-MTU-3]
#include "core/plane_use.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

class PlaneUseTest : public testing::Test {
 protected:
  PlaneUseTest() { planes_.set_present(0b1111_planes); }
  PlaneSet usable(PlaneSet claimed = {}, PlaneSet down = {}) {
    planes_.refresh(claimed, down);
    planes_.check(down);
    return planes_.usable();
  }
  PlaneUse planes_;
};

TEST_F(PlaneUseTest, planes_that_both_ends_have_and_whose_ports_are_up) {
  EXPECT_EQ(usable(), 0b1111_planes);
  planes_.set_local(0b0111_planes);
  EXPECT_EQ(usable(), 0b0111_planes);
  EXPECT_EQ(planes_.probeable(), 0b0111_planes);
  EXPECT_FALSE(planes_.locally_up(3_plane));
  EXPECT_TRUE(planes_.present(3_plane));
  planes_.set_present(0b0001_planes);
  EXPECT_EQ(usable(), 0b0001_planes);
  EXPECT_FALSE(planes_.present(1_plane));
}

TEST_F(PlaneUseTest, a_suspended_plane_is_out_until_it_is_resumed) {
  planes_.suspend(2_plane);
  EXPECT_EQ(usable(), 0b1011_planes);
  EXPECT_EQ(planes_.suspended(), 0b0100_planes);
  EXPECT_EQ(planes_.probeable(), 0b1111_planes);
  planes_.resume(2_plane);
  EXPECT_EQ(usable(), 0b1111_planes);
}

TEST_F(PlaneUseTest, planes_that_are_down_are_out_even_when_none_is_left) {
  EXPECT_EQ(usable({}, 0b0011_planes), 0b1100_planes);
  EXPECT_EQ(usable({}, 0b1111_planes), PlaneSet());
}

TEST_F(PlaneUseTest, planes_only_called_down_are_out_while_others_are_left) {
  EXPECT_EQ(usable(0b0111_planes), 0b1000_planes);
  EXPECT_EQ(usable(0b1111_planes), 0b1111_planes);
  EXPECT_EQ(usable(0b0001_planes, 0b1110_planes), 0b0001_planes);
}

// [MRC-EVS-20]
TEST_F(PlaneUseTest, lossy_planes_are_out_while_others_are_left) {
  planes_.set_lossy(1_plane, true);
  EXPECT_EQ(usable(), 0b1101_planes);
  EXPECT_EQ(planes_.with_lossy(), 0b1111_planes);
  EXPECT_EQ(usable({}, 0b1101_planes), 0b0010_planes);
  EXPECT_EQ(usable(0b1101_planes), 0b0010_planes);  // rather a lossy plane than those that may be down
  planes_.set_lossy(1_plane, false);
  EXPECT_EQ(usable(), 0b1111_planes);
}

TEST_F(PlaneUseTest, narrow_planes_are_out_while_others_are_left) {
  EXPECT_TRUE(planes_.set_narrow(0b0111_planes));
  EXPECT_FALSE(planes_.set_narrow(0b0111_planes));
  EXPECT_EQ(usable(), 0b1000_planes);
  EXPECT_EQ(usable({}, 0b1000_planes), 0b0111_planes);
  EXPECT_EQ(usable(0b1000_planes), 0b1000_planes);  // rather a full-sized plane in doubt than narrow ones
  planes_.set_lossy(3_plane, true);
  EXPECT_EQ(usable(), 0b1000_planes);  // or than a lossy one
}

}  // namespace
}  // namespace mrc::core
