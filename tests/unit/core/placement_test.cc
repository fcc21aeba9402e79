#include "core/placement.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::core {
namespace {

// Every length around the thresholds, every alignment: the bytes arrive and their neighbours stay.
TEST(Placement, CopiesExactly) {
  std::vector<uint8_t> from(600);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i + 1);
  for (uint32_t n = 0; n <= 530; n = n < 80 || (n > 240 && n < 340) ? n + 1 : n + 13)
    for (size_t align = 0; align < 8; ++align) {
      std::vector<uint8_t> to(700, 0xEE);
      place_bytes(to.data() + 64 + align, from.data() + 3, n);
      for (size_t i = 0; i < to.size(); ++i) {
        const bool inside = i >= 64 + align && i < 64 + align + n;
        ASSERT_EQ(to[i], inside ? from[3 + i - 64 - align] : 0xEE) << n << " at " << align << " byte " << i;
      }
    }
}

}  // namespace
}  // namespace mrc::core
