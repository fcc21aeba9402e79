#include "base/ids.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>
#include <vector>

namespace mrc {
namespace {

TEST(Ids, are_not_taken_for_each_other) {
  static_assert(!std::is_convertible_v<Qpn, Key> && !std::is_constructible_v<Qpn, Key>);
  static_assert(!std::is_convertible_v<uint32_t, Qpn> && !std::is_convertible_v<uint32_t, Key>);
  static_assert(!std::is_convertible_v<uint16_t, EvIndex> && !std::is_convertible_v<EvIndex, size_t>);
  EXPECT_EQ(Qpn(), Qpn(0));
  EXPECT_NE(Key(1), Key(2));
}

TEST(EvRange, has_the_evs_in_ascending_order) {
  std::vector<EvIndex> all;
  for (const EvIndex ev : EvRange(3)) all.push_back(ev);
  EXPECT_EQ(all, (std::vector<EvIndex>{0_ev, 1_ev, 2_ev}));
  for (const EvIndex ev : EvRange(0)) FAIL() << ev;
}

TEST(PerEv, is_indexed_by_ev) {
  PerEv<int> values{10, 20, 30};
  values[1_ev] = 21;
  EXPECT_EQ(values[1_ev], 21);
  EXPECT_EQ(std::as_const(values)[2_ev], 30);
  EXPECT_TRUE(values.has(2_ev));
  EXPECT_FALSE(values.has(3_ev));
  EXPECT_EQ(values.id_of(values.begin() + 2), 2_ev);
  int sum = 0;
  for (const EvIndex ev : values.ids()) sum += values[ev];
  EXPECT_EQ(sum, 61);
}

TEST(PerEv, of_bits) {
  PerEv<bool> bits(2);
  bits[1_ev] = true;
  EXPECT_TRUE(std::as_const(bits)[1_ev]);
  EXPECT_FALSE(bits[0_ev]);
}

}  // namespace
}  // namespace mrc
