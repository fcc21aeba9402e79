#include "device/held_bursts.h"

#include <gtest/gtest.h>

#include <string>

#include "datapath/mem/mem_datapath.h"
#include "invariant.h"

namespace mrc::device {
namespace {

class HeldBurstsTest : public ::testing::Test {
 protected:
  // A burst of these bytes, which are gone afterwards.
  void hold(PlaneId plane, const std::string& bytes) {
    std::string gone = bytes;
    core::TxBurst burst;
    burst.plane = plane;
    burst.segments = 1;
    burst.bytes = burst.segment_size = static_cast<uint32_t>(gone.size());
    burst.iov[burst.iov_count++] = {gone.data(), gone.size()};
    held_.hold(burst);
    gone.assign(gone.size(), '-');
  }
  std::string arrived() {
    core::RxBurst burst;
    if (path_->rx_burst({}, &burst, 1) == 0) return "";
    return {reinterpret_cast<const char*>(burst.data), burst.bytes};
  }

  std::unique_ptr<datapath::MemDatapath> path_ = datapath::MemDatapath::make_loop(2, 1);  // one burst per plane
  HeldBursts held_;
};

TEST_F(HeldBurstsTest, are_sent_as_their_planes_have_room) {
  hold(0_plane, "first");
  hold(1_plane, "other");
  EXPECT_EQ(held_.planes(), PlaneSet::all(2));
  held_.offer({}, path_.get());
  EXPECT_TRUE(held_.planes().empty());
  hold(0_plane, "second");
  held_.offer({}, path_.get());  // the plane is full
  EXPECT_EQ(held_.planes(), PlaneSet::all(1));
  EXPECT_EQ(arrived(), "first");
  EXPECT_EQ(arrived(), "other");
  held_.offer({}, path_.get());
  EXPECT_TRUE(held_.planes().empty());
  EXPECT_EQ(arrived(), "second");
  EXPECT_EQ(arrived(), "");
}

TEST_F(HeldBurstsTest, there_is_one_for_each_plane_at_most) {
  hold(0_plane, "first");
  hold(1_plane, "other");
  if (kCheckInvariants) {
    EXPECT_DEATH(hold(0_plane, "second"), "!planes_.contains");
  }
}

}  // namespace
}  // namespace mrc::device
