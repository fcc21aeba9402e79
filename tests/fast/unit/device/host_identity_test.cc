// GIDs that mean the loopback of one host.
#include "device/host_identity.h"

#include <gtest/gtest.h>

#include <set>

#include "harness/text.h"

namespace mrc::device {
namespace {

TEST(HostIdentity, gids__different_on_every_host_at_every_index) {
  std::set<IpAddress> seen;
  size_t count = 0;
  for (uint64_t host = 1; host < 1000; ++host) {
    const std::vector<IpAddress> gids = loopback_gids(host * 0x9E3779B97F4A7C15);
    ASSERT_EQ(gids.size(), 4u);
    EXPECT_TRUE(gids[0].is_link_local());
    EXPECT_TRUE(gids[2].is_zero());
    EXPECT_TRUE(gids[3].is_loopback_v4());
    for (const size_t i : {0, 1, 3}) {
      EXPECT_TRUE(gids[i].is_unicast());
      seen.insert(gids[i]);
      ++count;
    }
  }
  EXPECT_EQ(seen.size(), count);
}

TEST(HostIdentity, gids__none_is_the_usual_address_of_loopback) {
  for (const uint64_t host : {uint64_t{0}, UINT64_MAX, uint64_t{255}}) {
    const IpAddress v4 = loopback_gids(host)[3];
    EXPECT_NE(v4, testing_text::ip("127.0.0.1"));
    EXPECT_NE(v4.bytes[13], 0);
    EXPECT_TRUE(v4.bytes[15] != 0 && v4.bytes[15] != 255);
  }
}

}  // namespace
}  // namespace mrc::device
