#include "base/strong_id.h"

#include <absl/hash/hash.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <type_traits>
#include <unordered_set>

namespace mrc {
namespace {

using Apple = StrongId<struct AppleTag, uint32_t>;
using Pear = StrongId<struct PearTag, uint32_t>;
using Small = StrongId<struct SmallTag, uint8_t>;

TEST(StrongId, converts_by_name_only) {
  static_assert(!std::is_convertible_v<uint32_t, Apple> && !std::is_convertible_v<Apple, uint32_t>);
  static_assert(!std::is_convertible_v<Apple, Pear> && !std::is_constructible_v<Apple, Pear>);
  static_assert(!std::is_convertible_v<Apple, bool>);
  static_assert(std::is_constructible_v<Apple, uint32_t>);
  EXPECT_EQ(Apple(7).value(), 7u);
  EXPECT_EQ(Apple().value(), 0u);
}

TEST(StrongId, is_as_large_as_the_integer) {
  static_assert(sizeof(Apple) == 4 && sizeof(Small) == 1);
  static_assert(std::is_trivially_copyable_v<Apple> && std::is_standard_layout_v<Apple>);
}

TEST(StrongId, compares_as_its_integer_does) {
  EXPECT_EQ(Apple(7), Apple(7));
  EXPECT_NE(Apple(7), Apple(8));
  EXPECT_LT(Apple(7), Apple(8));
  EXPECT_GE(Apple(UINT32_MAX), Apple(8));
}

TEST(StrongId, equal_ids_hash_to_one_element) {
  const std::unordered_set<Apple> standard{Apple(1), Apple(2), Apple(1)};
  EXPECT_EQ(standard.size(), 2u);
  const std::unordered_set<Apple, absl::Hash<Apple>> abseil{Apple(1), Apple(2), Apple(1)};
  EXPECT_TRUE(abseil.contains(Apple(2)));
  EXPECT_FALSE(abseil.contains(Apple(3)));
}

TEST(StrongId, is_printed_as_a_number) {
  std::ostringstream out;
  out << Apple(65) << ' ' << Small(65);
  EXPECT_EQ(out.str(), "65 65");
}

TEST(StrongId, is_known_as_one) {
  static_assert(kIsStrongId<Apple> && kIsStrongId<Small> && !kIsStrongId<uint32_t>);
}

}  // namespace
}  // namespace mrc
