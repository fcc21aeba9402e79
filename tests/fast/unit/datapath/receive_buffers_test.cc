#include "datapath/udp/receive_buffers.h"

#include <gtest/gtest.h>

namespace mrc::datapath {
namespace {

TEST(ReceiveBuffers, open__as_many_as_there_is_room_for_up_to_a_limit) {
  ReceiveBuffers few, many;
  ASSERT_TRUE(few.open(262144, 65536, UINT32_MAX));
  EXPECT_EQ(few.available(), 4u);
  ASSERT_TRUE(many.open(262144, 1024, 64));
  EXPECT_EQ(many.available(), 64u);
}

TEST(ReceiveBuffers, take__goes_on_behind_the_last_until_all_are_returned) {
  ReceiveBuffers buffers;
  ASSERT_TRUE(buffers.open(65536, 16384, UINT32_MAX));
  uint8_t* const first = buffers.at(0);
  EXPECT_EQ(buffers.at(1), first + 16384);
  buffers.take(1);
  EXPECT_EQ(buffers.at(0), first + 16384);
  EXPECT_EQ(buffers.available(), 3u);
  buffers.take(3);
  EXPECT_EQ(buffers.available(), 0u);
  buffers.recycle();
  EXPECT_EQ(buffers.available(), 4u);
  EXPECT_EQ(buffers.at(0), first);
}

}  // namespace
}  // namespace mrc::datapath
