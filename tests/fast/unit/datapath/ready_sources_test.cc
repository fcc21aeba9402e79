#include "datapath/ready_sources.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::datapath {
namespace {

TEST(ReadySources, next__goes_round) {
  ReadySources ready;
  EXPECT_FALSE(ready.any());
  for (const uint32_t i : {0u, 5u, 63u, 64u, 127u}) ready.set(i);
  std::vector<uint32_t> order;
  for (int i = 0; i < 7; ++i) {
    order.push_back(ready.next());
    ready.begin_after(order.back());
  }
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 5, 63, 64, 127, 0, 5}));
}

TEST(ReadySources, next__comes_back_to_the_word_in_which_it_began) {
  ReadySources ready;
  for (const uint32_t i : {3u, 66u}) {
    ready.set(i);
    ready.begin_after(i);
    EXPECT_EQ(ready.next(), i);
    ready.clear(i);
  }
}

TEST(ReadySources, clear__leaves_the_others) {
  ReadySources ready;
  for (const uint32_t i : {3u, 4u, 68u}) ready.set(i);
  ready.clear(3);
  EXPECT_EQ(ready.next(), 4u);
  ready.clear(4);
  EXPECT_EQ(ready.next(), 68u);
  ready.clear(68);
  EXPECT_FALSE(ready.any());
}

}  // namespace
}  // namespace mrc::datapath
