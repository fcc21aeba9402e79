#include "datapath/held_queue.h"

#include <gtest/gtest.h>

#include <string>

#include "datapath/mem/mem_datapath.h"

namespace mrc::datapath {
namespace {

class HeldQueueTest : public ::testing::Test {
 protected:
  static Instant at(int64_t us) { return Instant() + Duration::microseconds(us); }
  // A burst of these bytes, which are gone afterwards. `bytes`: as many as it says to have.
  bool hold(Instant due, const std::string& text, uint64_t after_burst = 0, uint32_t bytes = 0) {
    std::string gone = text;
    core::TxBurst burst;
    burst.segments = 1;
    burst.bytes = burst.segment_size = bytes != 0 ? bytes : static_cast<uint32_t>(gone.size());
    burst.iov[burst.iov_count++] = {gone.data(), gone.size()};
    const bool held = held_.hold(due, burst, after_burst);
    gone.assign(gone.size(), '-');
    return held;
  }
  std::string arrived() {
    core::RxBurst burst;
    if (path_->rx_burst({}, &burst, 1) == 0) return "";
    return {reinterpret_cast<const char*>(burst.data), burst.bytes};
  }

  std::unique_ptr<MemDatapath> path_ = MemDatapath::make_loop(1, 2);  // two bursts
  HeldQueue held_;
};

TEST_F(HeldQueueTest, delayed_bursts_are_sent_in_the_order_of_their_times) {
  EXPECT_EQ(held_.next_timeout(), Instant::never());
  EXPECT_TRUE(hold(at(20), "later"));
  EXPECT_TRUE(hold(at(10), "sooner"));
  EXPECT_EQ(held_.next_timeout(), at(10));
  held_.release(at(9), path_.get());
  EXPECT_EQ(arrived(), "");
  held_.release(at(10), path_.get());
  EXPECT_EQ(arrived(), "sooner");
  EXPECT_EQ(arrived(), "");
  EXPECT_EQ(held_.next_timeout(), at(20));
  held_.release(at(20), path_.get());
  EXPECT_EQ(arrived(), "later");
  EXPECT_EQ(held_.next_timeout(), Instant::never());
}

TEST_F(HeldQueueTest, overtaken_bursts_wait_for_others_or_their_time) {
  hold(at(100), "after three", 3);
  hold(at(50), "in time", 9);
  held_.release_overtaken(at(0), 2, path_.get());
  EXPECT_EQ(arrived(), "");
  held_.release_overtaken(at(0), 3, path_.get());
  EXPECT_EQ(arrived(), "after three");
  EXPECT_EQ(arrived(), "");
  held_.release(at(50), path_.get());
  EXPECT_EQ(arrived(), "in time");
}

TEST_F(HeldQueueTest, bursts_without_room_stay) {
  for (const char* text : {"a", "b", "c"}) hold(at(1), text);
  held_.release(at(1), path_.get());
  EXPECT_EQ(held_.next_timeout(), Instant::never()) << "the descriptors signal room";
  EXPECT_EQ(arrived(), "a");
  EXPECT_EQ(arrived(), "b");
  EXPECT_EQ(arrived(), "");
  held_.release(at(2), path_.get());
  EXPECT_EQ(arrived(), "c");
}

TEST_F(HeldQueueTest, counts_the_bytes_that_it_holds) {
  hold(at(1), "abc");
  if (kCheckInvariants) {
    EXPECT_DEATH(hold(at(2), "defg", 0, 3), "bytes == held_bytes_");
  }
}

}  // namespace
}  // namespace mrc::datapath
