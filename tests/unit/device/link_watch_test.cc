// What the kernel says of links, in a network namespace of the test's own, where only loopback exists and is down at
// first [MRC-SR-23] [MRC-PORT-2].
#include "device/link_watch.h"

#include <gtest/gtest.h>
#include <linux/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

namespace mrc::device {
namespace {

bool set_loopback(bool up) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = up ? IFF_UP : 0;
  const bool done = fd >= 0 && ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  ::close(fd);
  return done;
}

// False when the state does not come within a time far above what a busy machine needs.
bool becomes(LinkWatch* watch, uint32_t wanted) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (watch->read() != wanted) {
    if (std::chrono::steady_clock::now() > until) return false;
    pollfd one{watch->fd(), POLLIN, 0};
    ::poll(&one, 1, 1000);
  }
  return true;
}

// Runs on a thread that has a namespace of its own. Without the rights for one there is nothing to be tested: nobody's
// links may be taken down for a test.
void in_own_namespace(const std::function<void()>& work) {
  std::thread thread([&] {
    if (::unshare(CLONE_NEWNET) == 0)
      work();
    else
      std::printf("not tested: a network namespace needs root\n");
  });
  thread.join();
}

// For up to 1 s after a cable is there the kernel leaves out IFF_RUNNING.
TEST(LinkWatch, an_interface_has_a_link_from_its_carrier_on) {
  EXPECT_TRUE(has_link(IFF_UP | IFF_LOWER_UP | IFF_RUNNING));
  EXPECT_TRUE(has_link(IFF_UP | IFF_LOWER_UP));
  EXPECT_FALSE(has_link(IFF_UP | IFF_RUNNING));
  EXPECT_FALSE(has_link(IFF_UP));
  EXPECT_FALSE(has_link(IFF_LOWER_UP));
  EXPECT_FALSE(has_link(IFF_UP | IFF_LOWER_UP | IFF_DORMANT));
}

TEST(LinkWatch, follows_interfaces_by_name) {
  in_own_namespace([] {
    LinkWatch watch;
    ASSERT_TRUE(watch.open({"lo", "", "none-of-that-name", "lo"}));
    EXPECT_TRUE(becomes(&watch, ~0b1001u));
    ASSERT_TRUE(set_loopback(true));
    EXPECT_TRUE(becomes(&watch, ~0u));
    ASSERT_TRUE(set_loopback(false));
    EXPECT_TRUE(becomes(&watch, ~0b1001u));
  });
}

TEST(LinkWatch, asks_again_when_news_was_lost) {
  in_own_namespace([] {
    LinkWatch watch;
    ASSERT_TRUE(watch.open({"lo"}));
    ASSERT_TRUE(becomes(&watch, ~1u));
    const int least = 1;
    ASSERT_EQ(::setsockopt(watch.fd(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least), 0);
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(set_loopback(i % 2 == 0));
    ASSERT_TRUE(set_loopback(true));
    EXPECT_TRUE(becomes(&watch, ~0u));
  });
}

}  // namespace
}  // namespace mrc::device
