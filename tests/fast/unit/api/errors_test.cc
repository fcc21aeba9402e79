// The wall that no exception crosses. Every entry point that can allocate stands behind it; that the engine behind it
// recovers from each failed allocation is tests/fast/alloc.
#include "api/errors.h"

#include <gtest/gtest.h>

namespace mrc::api {
namespace {

// [API-ERR-3]
TEST(ErrorsTest, memory_that_cannot_be_had_is_enomem) {
  const auto too_much = []() -> int { throw std::bad_alloc(); };
  static_assert(noexcept(or_enomem<int>(-1, too_much)));
  errno = 0;
  EXPECT_EQ(or_enomem<int>(-1, too_much), -1);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(ErrorsTest, a_success_passes_through_and_leaves_errno) {
  errno = 7;
  EXPECT_EQ(or_enomem<int>(-1, [] { return 5; }), 5);
  EXPECT_EQ(errno, 7);
}

}  // namespace
}  // namespace mrc::api
