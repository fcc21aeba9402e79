// Inline data that a queue pair is granted. [VRB-QP-6]
#include "objects/inline_room.h"

#include <gtest/gtest.h>

namespace mrc::shim {
namespace {

uint32_t granted(uint32_t asked, uint32_t max_send_sge) {
  return inline_room(
      {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = max_send_sge, .max_recv_sge = 1, .max_inline_data = asked});
}

TEST(InlineRoom, is_some_without_being_asked) {
  EXPECT_EQ(granted(0, 0), 64u);
  EXPECT_EQ(granted(0, 1), 64u);
  EXPECT_EQ(granted(64, 4), 64u);
  EXPECT_EQ(granted(65, 4), 65u);
  EXPECT_EQ(granted(960, 1), 960u);
}

TEST(InlineRoom, takes_the_place_of_elements) {
  EXPECT_EQ(granted(0, 4), 64u);
  EXPECT_EQ(granted(0, 5), 80u);
  EXPECT_EQ(granted(100, 15), 240u);
}

}  // namespace
}  // namespace mrc::shim
