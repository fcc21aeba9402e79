// Source ports as parts of a range, one for each path [MRC-SR-25].
#include "datapath/port_range.h"

#include <gtest/gtest.h>

namespace mrc::datapath {
namespace {

TEST(PortRange, parts_follow_one_another_and_the_rest_is_left_over) {
  const PortRange range{41000, 41010};
  ASSERT_EQ(range.size(), 11u);
  for (uint32_t n = 0; n < 3; ++n) {
    const PortRange part = range.part(n, 3);
    EXPECT_EQ(part.first, 41000 + 3 * n);
    EXPECT_EQ(part.last, 41002 + 3 * n);
  }
  EXPECT_EQ(range.part(10, 11).first, 41010);
  EXPECT_EQ(range.part(10, 11).last, 41010);
  EXPECT_EQ((PortRange{1024, 65535}.part(0, 1).last), 65535);
}

TEST(PortRange, contains_its_ends) {
  const PortRange range{2000, 2001};
  EXPECT_FALSE(range.contains(1999));
  EXPECT_TRUE(range.contains(2000));
  EXPECT_TRUE(range.contains(2001));
  EXPECT_FALSE(range.contains(2002));
}

TEST(PortRange, text__both_ends_of_what_is_allowed) {
  const std::optional<PortRange> all = parse_port_range("1024-65535");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->first, 1024);
  EXPECT_EQ(all->last, 65535);
  ASSERT_TRUE(parse_port_range("5000-5000"));
  for (const char* wrong : {"", "5000", "-", "5000-", "-5000", "1023-5000", "5000-4999", "5000-65536", "5000-6000 ",
                            "5000 -6000", "5000-6000-7000", "+5000-6000", "a-b"})
    EXPECT_FALSE(parse_port_range(wrong)) << wrong;
}

}  // namespace
}  // namespace mrc::datapath
