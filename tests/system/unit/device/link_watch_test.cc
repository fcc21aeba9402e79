// Planes and the links of their interfaces [MRC-SR-23] [MRC-PORT-2].
#include "device/link_watch.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>

#include "harness/limits.h"
#include "unit/own_loopback.h"

namespace mrc::device {
namespace {

// False when the state does not come within a time far above what a busy machine needs.
bool becomes(LinkWatch* watch, PlaneSet wanted) {
  const auto until = std::chrono::steady_clock::now() + harness::limit(std::chrono::seconds(20));
  while (watch->read() != wanted) {
    if (std::chrono::steady_clock::now() > until) return false;
    pollfd one{watch->fd(), POLLIN, 0};
    ::poll(&one, 1, 1000);
  }
  return true;
}

TEST(LinkWatch, follows_interfaces_by_name) {
  with_own_loopback([] {
    LinkWatch watch;
    ASSERT_TRUE(watch.open({"lo", "", "none-of-that-name", "lo"}));
    EXPECT_TRUE(becomes(&watch, PlaneSet::all() - 0b1001_planes));
    ASSERT_TRUE(set_loopback(true));
    EXPECT_TRUE(becomes(&watch, PlaneSet::all()));
    ASSERT_TRUE(set_loopback(false));
    EXPECT_TRUE(becomes(&watch, PlaneSet::all() - 0b1001_planes));
  });
}

}  // namespace
}  // namespace mrc::device
