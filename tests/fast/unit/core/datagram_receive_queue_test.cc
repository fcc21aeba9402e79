#include "core/datagram_receive_queue.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

TEST(DatagramReceiveQueue, keeps_requests_in_order_as_it_grows) {
  DatagramReceiveQueue q(100, 2, 7, false);
  EXPECT_EQ(q.pd(), 7u);
  uint64_t next = 0;
  for (uint64_t i = 0; i < 150; ++i) {
    const Sge sges[2] = {{i, 10, Key(1)}, {i + 1, 20, Key(2)}};
    ASSERT_EQ(q.post(i, sges, 2), PostResult::kOk);
    if (i % 3 == 0) continue;
    EXPECT_EQ(q.front().wr_id, next++);
    q.pop();
    q.check();
  }
  EXPECT_EQ(q.size(), 50u);
  EXPECT_EQ(q.front().wr_id, next);
  EXPECT_EQ(q.front().bytes, 30u);
  ASSERT_EQ(q.front().num_sge, 2u);
  EXPECT_EQ(q.front().sges[1].addr, next + 1);
  q.clear();
  EXPECT_TRUE(q.empty());
}

TEST(DatagramReceiveQueue, refuses_too_many_elements_and_requests) {
  DatagramReceiveQueue q(2, 1, 0, true);
  const Sge sges[2] = {{0, 10, Key(1)}, {0, 20, Key(2)}};
  EXPECT_EQ(q.post(1, sges, 2), PostResult::kTooManySges);
  EXPECT_EQ(q.post(1, sges, 1), PostResult::kOk);
  EXPECT_EQ(q.post(2, nullptr, 0), PostResult::kOk);
  EXPECT_EQ(q.post(3, sges, 1), PostResult::kQueueFull);
  q.pop();
  EXPECT_EQ(q.front().bytes, 0u);
  EXPECT_EQ(q.post(3, sges, 1), PostResult::kOk);
}

TEST(DatagramReceiveQueue, empty_elements_are_ignored) {
  DatagramReceiveQueue q(2, 3, 0, false);
  const Sge sges[3] = {{1, 0, Key(9)}, {2, 5, Key(1)}, {3, 0, Key(9)}};
  ASSERT_EQ(q.post(1, sges, 3), PostResult::kOk);
  EXPECT_EQ(q.front().num_sge, 1u);
  EXPECT_EQ(q.front().sges[0].addr, 2u);
}

}  // namespace
}  // namespace mrc::core
