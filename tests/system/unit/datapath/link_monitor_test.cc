// The kernel's notifications about links.
#include "datapath/links/link_monitor.h"

#include <gtest/gtest.h>
#include <linux/if.h>
#include <poll.h>

#include <cerrno>
#include <chrono>

#include "harness/limits.h"
#include "harness/no_descriptors.h"
#include "unit/own_loopback.h"

namespace mrc::datapath {
namespace {

// Loopback's state after the kernel's last notification. False also without any notification.
bool latest_state(LinkMonitor* news) {
  bool works = false;
  const auto take = [&](const LinkState& link) {
    if (link.name != "lo") return;  // some kernels put tunnels into every namespace
    EXPECT_EQ(link.interface, 1);
    works = link.works;
  };
  pollfd one{news->fd(), POLLIN, 0};
  ::poll(&one, 1, harness::limit_ms(20'000));
  do news->read(take);
  while (::poll(&one, 1, 0) == 1);
  return works;
}

// For up to 1 s after a cable is there the kernel leaves out IFF_RUNNING.
TEST(LinkMonitor, an_interface_has_a_link_from_its_carrier_on) {
  EXPECT_TRUE(has_link(IFF_UP | IFF_LOWER_UP | IFF_RUNNING));
  EXPECT_TRUE(has_link(IFF_UP | IFF_LOWER_UP));
  EXPECT_FALSE(has_link(IFF_UP | IFF_RUNNING));
  EXPECT_FALSE(has_link(IFF_UP));
  EXPECT_FALSE(has_link(IFF_LOWER_UP));
  EXPECT_FALSE(has_link(IFF_UP | IFF_LOWER_UP | IFF_DORMANT));
}

TEST(LinkMonitor, without_a_descriptor_it_says_so) {
  LinkMonitor news;
  {
    const harness::NoDescriptors none;
    const Status opened = news.open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, EMFILE);
  }
  const harness::NoStandardInput closed;
  EXPECT_TRUE(news.open());
  EXPECT_EQ(news.fd(), 0);
}

TEST(LinkMonitor, reports_the_present_state_first_and_changes_after_it) {
  with_own_loopback([] {
    ASSERT_TRUE(set_loopback(true));
    LinkMonitor news;
    ASSERT_TRUE(news.open());
    EXPECT_TRUE(latest_state(&news));
    ASSERT_TRUE(set_loopback(false));
    EXPECT_FALSE(latest_state(&news));
  });
}

// While its first answer is not read to the end the kernel drops news that finds no room, and takes no second query:
// what was lost must be asked for after that.
TEST(LinkMonitor, asks_again_when_news_was_lost) {
  with_own_loopback([] {
    LinkMonitor news;
    ASSERT_TRUE(news.open());
    const int min = 1;
    ASSERT_EQ(::setsockopt(news.fd(), SOL_SOCKET, SO_RCVBUF, &min, sizeof min), 0);
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(set_loopback(i % 2 == 0));
    ASSERT_TRUE(set_loopback(true));
    EXPECT_TRUE(latest_state(&news));
  });
}

}  // namespace
}  // namespace mrc::datapath
