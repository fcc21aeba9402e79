// Multicast groups over real sockets on loopback: copies for each process, counted joins, places that are used again,
// the address that they have. [MRC-UD-9] [MRC-UD-10]
#include <sys/epoll.h>

#include "datapath/udp/group_sockets.h"
#include "datapath/udp/rx.h"
#include "datapath/udp/syscalls.h"
#include "udp_fixture.h"

namespace mrc::datapath {
namespace {

constexpr uint16_t kGroupPort = 24791;  // not that of devices, which other tests open

class UdpMulticast : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<UdpDatapath> open(uint32_t planes = 2) {
    return open_or_fail(loopback_config(GetParam(), planes, 2 * planes));
  }
  static PerPlane<core::PlaneAddress> group(uint8_t last, size_t planes = 2) {
    return {planes, core::PlaneAddress{IpAddress::v4(239, 79, 0, last), kGroupPort}};
  }
  // From the source of plane 1 to the group.
  static void send(UdpDatapath& from, const PerPlane<core::PlaneAddress>& to, uint32_t salt, uint8_t hop_limit = 1) {
    const auto sources = from.group_sources();
    ASSERT_TRUE(sources) << sources.error().text;
    TestBurst b(1, 300, 300, salt);
    b.burst.plane = PlaneId(0);
    b.burst.flow.src = (*sources)[0].addr;
    b.burst.flow.src_port = (*sources)[0].port;
    b.burst.flow.dst = to[0].addr;
    b.burst.flow.dst_port = to[0].port;
    b.burst.flow.traffic_class = 0x28;
    b.burst.hop_limit = hop_limit;
    ASSERT_TRUE(from.tx_one(Instant(), b.burst));
    EXPECT_EQ(from.counters().tx_errors, 0u);
  }
};
INSTANTIATE_TEST_SUITE_P(Ip, UdpMulticast, testing::Bool(),
                         [](const auto& v4) { return std::string(v4.param ? "v4" : "v6"); });

TEST_P(UdpMulticast, every_process_gets_one_copy_the_senders_too) {
  const auto a = open(), b = open(), other = open();
  for (UdpDatapath* dp : {a.get(), b.get()}) ASSERT_TRUE(dp->join_group(group(1)));
  ASSERT_TRUE(other->join_group(group(2)));
  send(*a, group(1), 5);
  const auto sources = a->group_sources();
  for (UdpDatapath* dp : {a.get(), b.get()}) {
    const std::vector<Got> got = receive(*dp, 1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].bytes.size(), 300u);
    EXPECT_EQ(got[0].bytes[17], pattern(5, 17));
    EXPECT_EQ(got[0].flow.dst, group(1)[0].addr);
    EXPECT_EQ(got[0].flow.dst_port, kGroupPort);
    EXPECT_EQ(got[0].flow.src, (*sources)[0].addr);
    EXPECT_EQ(got[0].flow.src_port, (*sources)[0].port);
    EXPECT_EQ(got[0].flow.traffic_class, 0x28);
    EXPECT_EQ(got[0].plane, PlaneId(0));  // both planes have the interface
  }
  // The next one is the only one that is left: no second copy of the first, none of the other group.
  send(*a, group(2), 6, 9);
  ASSERT_EQ(receive(*other, 1).size(), 1u);
  core::RxBurst none;
  for (UdpDatapath* dp : {a.get(), b.get(), other.get()}) EXPECT_EQ(dp->rx_burst(Instant(), &none, 1), 0);
}

TEST_P(UdpMulticast, joins_are_counted_and_places_used_again) {
  const auto a = open();
  ASSERT_TRUE(a->join_group(group(3)));
  ASSERT_TRUE(a->join_group(group(3)));
  a->leave_group(group(3));
  send(*a, group(3), 7);
  EXPECT_EQ(receive(*a, 1).size(), 1u);
  a->leave_group(group(3));
  a->leave_group(group(3));  // no effect
  send(*a, group(3), 8);
  core::RxBurst none;
  EXPECT_EQ(a->rx_burst(Instant(), &none, 1), 0);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(a->join_group(group(4)));
    a->leave_group(group(4));
  }
  const uint32_t room = a->max_groups();
  ASSERT_GE(room, 32u);
  for (uint32_t i = 0; i < room; ++i) ASSERT_TRUE(a->join_group(group(static_cast<uint8_t>(100 + i)))) << i;
  const Status more = a->join_group(group(99));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ENOMEM);
  a->leave_group(group(100));
  EXPECT_TRUE(a->join_group(group(99)));
}

// The kernel may tell of a socket that has left between two calls.
TEST(UdpMulticastReceiver, sockets_that_have_left_are_not_ready) {
  const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  UdpReceiver rx;
  ClosedPlanes closed;
  ASSERT_TRUE(rx.open(loopback_config(true, 1, 1), kernel_syscalls(), false, epoll.get(), &closed));
  const uint32_t place = rx.sockets().size();
  const PerPlane<core::PlaneAddress> group(1, {IpAddress::v4(239, 79, 0, 5), kGroupPort});
  rx.set_ready(place);
  EXPECT_FALSE(rx.any_ready());
  ASSERT_TRUE(rx.join(group));
  rx.leave(group);
  rx.set_ready(place);
  rx.set_ready(UINT32_MAX);
  EXPECT_FALSE(rx.any_ready());
  ASSERT_TRUE(rx.join(group));
  rx.set_ready(place);
  EXPECT_TRUE(rx.any_ready());
}

// Nothing is read from a socket that has closed with something to read.
TEST(UdpMulticastReceiver, sockets_that_close_are_ready_no_more) {
  const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  UdpReceiver rx;
  ClosedPlanes closed;
  ASSERT_TRUE(rx.open(loopback_config(true, 1, 1), kernel_syscalls(), false, epoll.get(), &closed));
  const uint32_t place = rx.sockets().size();
  const PerPlane<core::PlaneAddress> group(1, {IpAddress::v4(239, 79, 0, 5), kGroupPort});
  ASSERT_TRUE(rx.join(group));
  rx.set_ready(0);
  rx.set_ready(place);
  rx.leave(group);
  EXPECT_TRUE(rx.any_ready());  // the plane's
  DatapathCounters counters;
  core::RxBurst none;
  EXPECT_EQ(rx.receive(&none, 1, &counters), 0);
  EXPECT_EQ(counters.rx_calls, 1u);
  EXPECT_EQ(counters.rx_errors, 0u);
  rx.set_ready(0);
  rx.close_plane(PlaneId(0));
  EXPECT_FALSE(rx.any_ready());
}

// Without IPv6 over lo the group is one of IPv4 there.
TEST(UdpMulticastSource, of_loopback_is_ipv4) {
  EXPECT_EQ(group_source_address(loopback(false)), loopback(true));
  EXPECT_EQ(group_source_address(loopback(true)), loopback(true));
  const IpAddress plane = IpAddress::parse("fd00::7").value();
  EXPECT_EQ(group_source_address(plane), plane);
}

}  // namespace
}  // namespace mrc::datapath
