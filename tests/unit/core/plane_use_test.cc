// [MRC-EVS-5] [MRC-PORT-1] [MRC-MTU-3]
#include "core/plane_use.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

class PlaneUseTest : public testing::Test {
 protected:
  PlaneUseTest() { planes_.set_present(0b1111); }
  uint32_t usable(uint32_t claimed = 0, uint32_t down = 0) {
    planes_.refresh(claimed, down);
    planes_.check(down);
    return planes_.usable();
  }
  PlaneUse planes_;
};

TEST_F(PlaneUseTest, PlanesThatBothEndsHaveAndWhosePortsAreUp) {
  EXPECT_EQ(usable(), 0b1111u);
  planes_.set_local(0b0111);
  EXPECT_EQ(usable(), 0b0111u);
  EXPECT_EQ(planes_.askable(), 0b0111u);
  EXPECT_FALSE(planes_.locally_up(3));
  EXPECT_TRUE(planes_.present(3));
  planes_.set_present(0b0001);
  EXPECT_EQ(usable(), 0b0001u);
  EXPECT_FALSE(planes_.present(1));
}

TEST_F(PlaneUseTest, ASuspendedPlaneIsOutUntilItIsResumed) {
  planes_.suspend(2);
  EXPECT_EQ(usable(), 0b1011u);
  EXPECT_EQ(planes_.suspended(), 0b0100u);
  EXPECT_EQ(planes_.askable(), 0b1111u);
  planes_.resume(2);
  EXPECT_EQ(usable(), 0b1111u);
}

TEST_F(PlaneUseTest, PlanesThatAreDownAreOutEvenWhenNoneIsLeft) {
  EXPECT_EQ(usable(0, 0b0011), 0b1100u);
  EXPECT_EQ(usable(0, 0b1111), 0u);
}

TEST_F(PlaneUseTest, PlanesOnlyCalledDownAreOutWhileOthersAreLeft) {
  EXPECT_EQ(usable(0b0111), 0b1000u);
  EXPECT_EQ(usable(0b1111), 0b1111u);
  EXPECT_EQ(usable(0b0001, 0b1110), 0b0001u);
}

TEST_F(PlaneUseTest, NarrowPlanesAreOutWhileOthersAreLeft) {
  EXPECT_TRUE(planes_.set_narrow(0b0111));
  EXPECT_FALSE(planes_.set_narrow(0b0111));
  EXPECT_EQ(usable(), 0b1000u);
  EXPECT_EQ(usable(0, 0b1000), 0b0111u);
  EXPECT_EQ(usable(0b1000), 0b1000u);  // rather a full-sized plane in doubt than narrow ones
}

}  // namespace
}  // namespace mrc::core
