// Copies past the caches: exactly the bytes, whatever the addresses and the size.
#include "base/stream_copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc {
namespace {

TEST(StreamCopy, copies_exactly) {
  constexpr size_t kBefore = 64, kLongest = 600;
  std::vector<uint8_t> from(kLongest + kBefore);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 + 1);
  for (size_t size = 0; size <= kLongest; size = size < 140 ? size + 1 : size + 23)
    for (size_t align = 0; align < kBefore; align += 3) {
      std::vector<uint8_t> to(kLongest + 4 * kBefore, 0xEE);
      stream_copy(to.data() + kBefore + align, from.data() + align / 2, size);
      for (size_t i = 0; i < to.size(); ++i) {
        const size_t at = i - kBefore - align;  // wraps before the copy
        ASSERT_EQ(to[i], at < size ? from[align / 2 + at] : 0xEE) << size << " bytes at " << align << ", byte " << i;
      }
    }
}

}  // namespace
}  // namespace mrc
