// Which packets have arrived. [MRC-PSN-2]
#include "core/received_packets.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

constexpr uint64_t kFirstSeq = ReceivedPackets::kOrigin;

class ReceivedPacketsTest : public testing::Test {
 protected:
  ReceivedPacketsTest() {
    received_.set_window(128);
    received_.allocate();
  }
  ReceivedPackets received_;
};

TEST_F(ReceivedPacketsTest, the_window_begins_at_the_next_packet) {
  EXPECT_TRUE(received_.in_window(-5));
  EXPECT_TRUE(received_.in_window(127));
  EXPECT_FALSE(received_.in_window(128));
}

TEST_F(ReceivedPacketsTest, packets_above_the_next_one_are_out_of_order) {
  received_.add(kFirstSeq + 2, 1000);
  received_.check();
  EXPECT_EQ(received_.expected(), kFirstSeq);
  EXPECT_EQ(received_.end(), kFirstSeq + 3);
  EXPECT_EQ(received_.out_of_order(), 1u);
  EXPECT_FALSE(received_.next_arrived());
  EXPECT_TRUE(received_.contains(kFirstSeq + 2));
  EXPECT_FALSE(received_.contains(kFirstSeq + 1));
  EXPECT_TRUE(received_.contains(kFirstSeq - 1));  // before the first one
  EXPECT_EQ(received_.above(kFirstSeq), 0b100u);
}

TEST_F(ReceivedPacketsTest, advancing_moves_over_one_packet) {
  received_.add(kFirstSeq, 1000);
  received_.add(kFirstSeq + 1, 500);
  ASSERT_TRUE(received_.next_arrived());
  received_.advance();
  EXPECT_EQ(received_.expected(), kFirstSeq + 1);
  EXPECT_TRUE(received_.contains(kFirstSeq));
  received_.advance();
  EXPECT_FALSE(received_.next_arrived());
  EXPECT_EQ(received_.out_of_order(), 0u);
  EXPECT_EQ(received_.packets(), 2u);
  EXPECT_EQ(received_.nominal_bytes(), 1500u);
  received_.check();
}

// The bitmap is a ring: a place is clear when the next lap comes to it.
TEST_F(ReceivedPacketsTest, laps_do_not_show_through) {
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_FALSE(received_.contains(kFirstSeq + i + 127));
    if (i + 127 < 1000) received_.add(kFirstSeq + i + 127, 1);
    if (!received_.next_arrived()) received_.add(kFirstSeq + i, 1);
    received_.advance();
    received_.check();
  }
}

TEST_F(ReceivedPacketsTest, a_reset_forgets_all_but_the_count) {
  received_.add(kFirstSeq + 3, 1000);
  received_.reset();
  EXPECT_EQ(received_.end(), kFirstSeq);
  EXPECT_EQ(received_.nominal_bytes(), 0u);
  EXPECT_EQ(received_.packets(), 1u);
  EXPECT_EQ(received_.capacity(), 0u);
}

}  // namespace
}  // namespace mrc::core
