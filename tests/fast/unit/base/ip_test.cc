#include "base/ip.h"

#include <gtest/gtest.h>

#include "harness/text.h"

namespace mrc {
namespace {

using testing_text::ip;

TEST(Ip, v4_is_mapped) {
  const IpAddress a = ip("127.0.0.1");
  EXPECT_EQ(a, IpAddress::v4(127, 0, 0, 1));
  EXPECT_TRUE(a.is_v4());
  EXPECT_EQ(a.to_string(), "127.0.0.1");
  EXPECT_EQ(ip("::ffff:127.0.0.1"), a);
}

TEST(Ip, v6_keeps_network_order) {
  const IpAddress a = ip("fd00:1::2");
  EXPECT_FALSE(a.is_v4());
  EXPECT_EQ(a.bytes[0], 0xFD);
  EXPECT_EQ(a.bytes[3], 1);
  EXPECT_EQ(a.bytes[15], 2);
  EXPECT_EQ(a.to_string(), "fd00:1::2");
}

TEST(Ip, parse_refuses_what_is_no_address) {
  for (const char* text : {"", "localhost", "1.2.3", "1.2.3.256", "fd00::1%lo", " 1.2.3.4", "1.2.3.4 ", "::1/128"}) {
    EXPECT_FALSE(IpAddress::parse(text)) << text;
  }
}

TEST(Ip, zero_and_mapped_zero_differ) {
  EXPECT_TRUE(ip("::").is_zero());
  EXPECT_TRUE(IpAddress{}.is_zero());
  EXPECT_FALSE(ip("0.0.0.0").is_zero());
  EXPECT_FALSE(ip("::1").is_zero());
  EXPECT_FALSE(ip("::1").is_v4());
}

TEST(Ip, zero_broadcast_and_multicast_are_not_unicast) {
  for (const char* text : {"0.0.0.1", "127.0.0.1", "223.255.255.255", "::1", "fe80::1", "feff::1"})
    EXPECT_TRUE(IpAddress::parse(text)->is_unicast()) << text;
  for (const char* text : {"0.0.0.0", "224.0.0.0", "255.255.255.255", "::", "ff00::", "ff02::1"})
    EXPECT_FALSE(IpAddress::parse(text)->is_unicast()) << text;
}

TEST(Ip, only_class_d_and_ff00_are_multicast) {
  for (const char* text : {"224.0.0.0", "239.255.255.255", "ff00::", "ffff::1"})
    EXPECT_TRUE(IpAddress::parse(text)->is_multicast()) << text;
  for (const char* text : {"223.255.255.255", "240.0.0.0", "0.0.0.0", "::", "feff::", "fd00::e000:1", "::1:224.0.0.1"})
    EXPECT_FALSE(IpAddress::parse(text)->is_multicast()) << text;
}

TEST(Ip, addresses_are_ordered_by_their_bytes) {
  EXPECT_TRUE(ip("fd00::1") < ip("fd00::2"));
  EXPECT_FALSE(ip("fd00::2") < ip("fd00::1"));
  EXPECT_FALSE(ip("fd00::1") < ip("fd00::1"));
  EXPECT_TRUE(ip("fd00::1") != ip("fd00::2"));
}

}  // namespace
}  // namespace mrc
