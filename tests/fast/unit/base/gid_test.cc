#include "gid.h"

#include <gtest/gtest.h>

namespace mrc {
namespace {

TEST(Gid, is_zero__is_false_with_any_byte_set) {
  ibv_gid gid{};
  EXPECT_TRUE(is_zero(gid));
  for (uint8_t& byte : gid.raw) {
    byte = 0x80;
    EXPECT_FALSE(is_zero(gid));
    byte = 0;
  }
}

}  // namespace
}  // namespace mrc
