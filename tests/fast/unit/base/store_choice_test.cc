// Which stores a copy uses, by the time of earlier ones. [MRC-LOCAL-9]
#include "base/store_choice.h"

#include <gtest/gtest.h>

namespace mrc {
namespace {

constexpr uint64_t kSlow = 4000;  // bytes per 1,000 cycles
constexpr size_t kBytes = 40000;
constexpr uint64_t kQuick = 10000;  // cycles, which are not slow yet
constexpr uint64_t kLong = kQuick + 1;

class StoreChoiceTest : public testing::Test {
 protected:
  // One ordinary copy.
  void copy(uint64_t taken) {
    ASSERT_FALSE(choice_.stream());
    choice_.note(kBytes, taken);
  }
  // How many copies bypass the caches before the next ordinary one.
  uint32_t streamed() {
    uint32_t n = 0;
    while (n < 1000 && choice_.stream()) ++n;
    return n;
  }
  StoreChoice choice_{kSlow};
};

TEST_F(StoreChoiceTest, ordinary_stores_while_they_are_quick) {
  for (int i = 0; i < 1000; ++i) copy(kQuick);
}

TEST_F(StoreChoiceTest, two_slow_copies_in_a_row_are_needed) {
  for (int i = 0; i < 10; ++i) {
    copy(kLong);
    copy(kQuick);
  }
  copy(kLong);
  copy(kLong);
  EXPECT_EQ(streamed(), StoreChoice::kStreamed);
}

TEST_F(StoreChoiceTest, then_one_copy_that_is_tried_decides) {
  copy(kLong);
  copy(kLong);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(streamed(), StoreChoice::kStreamed);
    choice_.note(kBytes, kLong);
  }
  EXPECT_EQ(streamed(), StoreChoice::kStreamed);
  choice_.note(kBytes, kQuick);
  copy(kLong);  // one is not enough again
  EXPECT_EQ(streamed(), 0u);
}

}  // namespace
}  // namespace mrc
