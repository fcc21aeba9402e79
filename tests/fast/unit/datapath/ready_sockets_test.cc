#include "datapath/udp/ready_sockets.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::datapath {
namespace {

TEST(ReadySockets, next__GoesRound) {
  ReadySockets ready;
  EXPECT_FALSE(ready.any());
  for (const uint32_t i : {0u, 5u, 63u}) ready.set(i);
  std::vector<uint32_t> order;
  for (int i = 0; i < 5; ++i) {
    order.push_back(ready.next());
    ready.begin_after(order.back());
  }
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 5, 63, 0, 5}));
}

TEST(ReadySockets, clear__LeavesTheOthers) {
  ReadySockets ready;
  ready.set(3);
  ready.set(4);
  ready.clear(3);
  EXPECT_EQ(ready.next(), 4u);
  ready.clear(4);
  EXPECT_FALSE(ready.any());
}

TEST(ReadySockets, retain__RemovesThoseThatHaveClosed) {
  ReadySockets ready;
  ready.set(0);
  ready.set(63);
  ready.retain(~uint64_t{0} << 1);
  EXPECT_EQ(ready.next(), 63u);
  ready.retain(1);
  EXPECT_FALSE(ready.any());
}

}  // namespace
}  // namespace mrc::datapath
