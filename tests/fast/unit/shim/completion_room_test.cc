// The size of a completion queue that never overruns.
#include "objects/completion_room.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace mrc::shim {
namespace {

TEST(CompletionRoom, the_queue_grows_by_doubling_and_only_when_it_has_to) {
  CompletionRoom room(16);
  std::vector<uint64_t> sizes;
  const auto resize = [&sizes](uint64_t entries) { return sizes.push_back(entries), 0; };
  EXPECT_EQ(room.reserve(16, resize), 0);
  EXPECT_TRUE(sizes.empty());
  EXPECT_EQ(room.reserve(1, resize), 0);
  EXPECT_EQ(room.reserve(100, resize), 0);
  EXPECT_EQ(sizes, (std::vector<uint64_t>{32, 128}));
  room.release(100);
  EXPECT_EQ(room.reserve(111, resize), 0);
  EXPECT_EQ(sizes.size(), 2u);
  EXPECT_EQ(room.entries(), 128u);
}

TEST(CompletionRoom, nothing_is_reserved_if_the_queue_cannot_grow) {
  CompletionRoom room(16);
  EXPECT_EQ(room.reserve(20, [](uint64_t) { return ENOMEM; }), ENOMEM);
  EXPECT_EQ(room.entries(), 16u);
  EXPECT_EQ(room.reserve(16, [](uint64_t) { return ENOMEM; }), 0);
}

}  // namespace
}  // namespace mrc::shim
