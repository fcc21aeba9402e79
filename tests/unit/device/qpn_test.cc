#include "device/qpn.h"

#include <gtest/gtest.h>

#include <set>

namespace mrc::device {
namespace {

TEST(Qpn, layout__slot_in_the_top_byte) {
  EXPECT_EQ(make_qpn(0, 3), 0x000003u);
  EXPECT_EQ(make_qpn(1, 0), 0x010000u);
  EXPECT_EQ(make_qpn(255, 0xFFFE), 0xFFFFFEu);
  EXPECT_EQ(slot_of(0x7F1234), 0x7F);
  EXPECT_EQ(index_of(0x7F1234), 0x1234);
}

TEST(QpnAllocator, take__all_numbers_once_and_none_reserved) {
  QpnAllocator numbers(255, 1u << 20, 12345);
  std::set<uint32_t> seen;
  for (uint32_t i = 0; i < kQpIndexEnd - kFirstQpIndex; ++i) {
    const uint32_t qpn = numbers.take();
    ASSERT_TRUE(seen.insert(qpn).second);
    ASSERT_EQ(slot_of(qpn), 255);
  }
  EXPECT_EQ(*seen.begin(), 0xFF0003u);   // never 0, 1, 2
  EXPECT_EQ(*seen.rbegin(), 0xFFFFFEu);  // never the multicast QPN
  EXPECT_EQ(numbers.take(), 0u);
  EXPECT_EQ(numbers.in_use(), 65532u);
  numbers.give(0xFF0100);
  EXPECT_EQ(numbers.take(), 0xFF0100u);
}

TEST(QpnAllocator, take__a_number_comes_back_last) {
  QpnAllocator numbers(0, 4, 0);
  const uint32_t first = numbers.take();
  EXPECT_EQ(first, 3u);
  numbers.give(first);
  EXPECT_EQ(numbers.take(), 4u);
  EXPECT_EQ(numbers.take(), 5u);
  EXPECT_EQ(numbers.take(), 6u);
  EXPECT_EQ(numbers.take(), first);
  EXPECT_EQ(numbers.take(), 0u);
}

TEST(QpnAllocator, take__start_moves_the_first) {
  EXPECT_EQ(QpnAllocator(2, 100, 10).take(), 0x02000Du);
  EXPECT_EQ(QpnAllocator(2, 10, 10).take(), 0x020003u);
}

TEST(QpnAllocator, give__foreign_and_free_numbers_change_nothing) {
  QpnAllocator numbers(1, 2, 0);
  const uint32_t a = numbers.take();
  numbers.take();
  numbers.give(make_qpn(2, index_of(a)));
  numbers.give(make_qpn(1, 0));
  numbers.give(make_qpn(1, 5));
  EXPECT_EQ(numbers.in_use(), 2u);
  numbers.give(a);
  numbers.give(a);
  EXPECT_EQ(numbers.in_use(), 1u);
}

}  // namespace
}  // namespace mrc::device
