#include "core/recv_queue.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

TEST(RecvQueue, in_order_up_to_its_limit) {
  RecvQueue q;
  q.init(3);  // not a power of two
  for (uint64_t lap = 0; lap < 10; ++lap) {
    for (uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(q.push(lap * 10 + i));
    EXPECT_FALSE(q.push(99));
    q.check();
    for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(q.pop(), lap * 10 + i);
    EXPECT_TRUE(q.empty());
  }
}

TEST(RecvQueue, keeps_the_order_when_it_grows) {
  RecvQueue q;
  q.init(100);
  for (uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(q.push(i));
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(q.pop(), i);
  for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(q.push(i));  // from the middle of the ring
  EXPECT_FALSE(q.push(100));
  q.check();
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(q.pop(), i);
  EXPECT_TRUE(q.empty());
}

TEST(RecvQueue, a_reset_drops_what_waits) {
  RecvQueue q;
  q.init(2);
  EXPECT_TRUE(q.push(1));
  q.reset();
  EXPECT_TRUE(q.empty());
  EXPECT_TRUE(q.push(2));
  EXPECT_EQ(q.pop(), 2u);
}

}  // namespace
}  // namespace mrc::core
