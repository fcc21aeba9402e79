#include "base/psn.h"

#include <gtest/gtest.h>

namespace mrc {
namespace {

constexpr int32_t kHalf = 1 << 23;

TEST(Psn, stays_in_24_bits) {  // [MRC-PSN-1]
  EXPECT_EQ(Psn(0x1FFFFFF).value(), 0xFFFFFFu);
  EXPECT_EQ(Psn(0xFFFFFF).next().value(), 0u);
  EXPECT_EQ((Psn(0xFFFFFF) + 2).value(), 1u);
  EXPECT_EQ((Psn(0) - 1).value(), 0xFFFFFFu);
  EXPECT_EQ((Psn(5) + -6).value(), 0xFFFFFFu);
}

TEST(Psn, distance_is_signed_and_shortest) {
  EXPECT_EQ(Psn(5) - Psn(3), 2);
  EXPECT_EQ(Psn(3) - Psn(5), -2);
  EXPECT_EQ(Psn(0) - Psn(0xFFFFFF), 1);
  EXPECT_EQ(Psn(0xFFFFFF) - Psn(0), -1);
}

TEST(Psn, half_range) {  // both sides of 2^23 [MRC-PSN-1]
  for (uint32_t start : {0u, 1u, 0x7FFFFFu, 0x800000u, 0xFFFFFFu}) {
    const Psn a(start);
    EXPECT_EQ((a + (kHalf - 1)) - a, kHalf - 1);
    EXPECT_TRUE(a < a + (kHalf - 1));
    EXPECT_EQ((a + kHalf) - a, -kHalf);
    EXPECT_TRUE(a + kHalf < a);
    EXPECT_TRUE(a + (kHalf + 1) < a);
  }
}

TEST(Psn, comparisons_across_the_wrap) {
  const Psn before(0xFFFFFE);
  const Psn after(1);
  EXPECT_TRUE(before < after && before <= after && !(before > after) && !(before >= after));
  EXPECT_TRUE(after > before && after >= before && after != before);
  EXPECT_TRUE(after == after && after <= after && after >= after && !(after < after) && !(after > after));
}

}  // namespace
}  // namespace mrc
