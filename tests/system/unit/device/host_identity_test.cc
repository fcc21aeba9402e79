// The identity of this host's loopback.
#include "device/host_identity.h"

#include <gtest/gtest.h>

#include "unit/own_loopback.h"

namespace mrc::device {
namespace {

TEST(HostIdentity, it_is_that_of_the_network_namespace) {
  const uint64_t here = loopback_identity();
  EXPECT_NE(here, 0u);
  EXPECT_EQ(loopback_identity(), here);
  with_own_loopback([&] {
    const uint64_t elsewhere = loopback_identity();
    EXPECT_NE(elsewhere, 0u);
    EXPECT_NE(elsewhere, here);
    EXPECT_EQ(loopback_identity(), elsewhere);
  });
  EXPECT_EQ(loopback_identity(), here);
}

}  // namespace
}  // namespace mrc::device
