#include "device/qpn.h"

#include <gtest/gtest.h>

#include <set>

namespace mrc::device {
namespace {

TEST(Qpn, layout__slot_in_the_top_byte) {
  EXPECT_EQ(make_qpn(0, 3), Qpn(0x000003));
  EXPECT_EQ(make_qpn(1, 0), Qpn(0x010000));
  EXPECT_EQ(make_qpn(255, 0xFFFE), Qpn(0xFFFFFE));
  EXPECT_EQ(slot_of(Qpn(0x7F1234)), 0x7F);
  EXPECT_EQ(index_of(Qpn(0x7F1234)), 0x1234);
}

TEST(QpnAllocator, take__all_numbers_once_and_none_reserved) {
  QpnAllocator numbers(255, 1u << 20, 12345);
  std::set<Qpn> seen;
  for (uint32_t i = 0; i < kQpIndexEnd - kFirstQpIndex; ++i) {
    const Qpn qpn = numbers.take();
    ASSERT_TRUE(seen.insert(qpn).second);
    ASSERT_EQ(slot_of(qpn), 255);
  }
  EXPECT_EQ(*seen.begin(), Qpn(0xFF0003));   // never 0, 1, 2
  EXPECT_EQ(*seen.rbegin(), Qpn(0xFFFFFE));  // never the multicast QPN
  EXPECT_EQ(numbers.take(), Qpn());
  EXPECT_EQ(numbers.in_use(), 65532u);
  numbers.give(Qpn(0xFF0100));
  EXPECT_EQ(numbers.take(), Qpn(0xFF0100));
}

TEST(QpnAllocator, take__a_number_comes_back_last) {
  QpnAllocator numbers(0, 4, 0);
  const Qpn first = numbers.take();
  numbers.give(first);
  for (uint32_t i = 1; i < kQpIndexEnd - kFirstQpIndex; ++i) {
    const Qpn qpn = numbers.take();
    ASSERT_NE(qpn, first);
    numbers.give(qpn);
  }
  EXPECT_EQ(numbers.take(), first);
}

TEST(QpnAllocator, take__no_more_than_the_limit) {
  QpnAllocator numbers(0, 4, 7);
  for (int i = 0; i < 4; ++i) EXPECT_NE(numbers.take(), Qpn());
  EXPECT_EQ(numbers.take(), Qpn());
}

// [MRC-SEC-7]: another key, another order, and neighbours in time are not neighbours in number.
TEST(QpnAllocator, take__the_key_decides_the_order) {
  constexpr uint32_t kTakes = 4096;
  QpnAllocator a(1, 65532, 1), b(1, 65532, 2), again(1, 65532, 1);
  uint32_t same = 0, beside = 0;
  Qpn last;
  std::set<uint32_t> upper;
  for (uint32_t i = 0; i < kTakes; ++i) {
    const Qpn qpn = a.take();
    EXPECT_EQ(again.take(), qpn);
    same += qpn == b.take();
    beside += qpn.value() == last.value() + 1;
    last = qpn;
    upper.insert(index_of(qpn) >> 8);
  }
  EXPECT_LT(same, 10u);
  EXPECT_LT(beside, 10u);
  EXPECT_EQ(upper.size(), 256u);
}

TEST(QpnAllocator, give__foreign_and_free_numbers_change_nothing) {
  QpnAllocator numbers(1, 2, 0);
  const Qpn a = numbers.take();
  const Qpn b = numbers.take();
  numbers.give(make_qpn(2, index_of(a)));
  numbers.give(make_qpn(1, 0));
  for (uint16_t i = 3; i < 500; ++i)
    if (make_qpn(1, i) != a && make_qpn(1, i) != b) numbers.give(make_qpn(1, i));
  EXPECT_EQ(numbers.in_use(), 2u);
  numbers.give(a);
  numbers.give(a);
  EXPECT_EQ(numbers.in_use(), 1u);
}

}  // namespace
}  // namespace mrc::device
