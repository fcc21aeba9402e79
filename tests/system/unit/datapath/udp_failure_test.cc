// System calls that fail: bit n of a mask makes the n-th call of one kind fail with a chosen errno.
#include <cerrno>

#include "datapath/udp/syscalls.h"
#include "datapath/udp/udp_datapath.h"
#include "harness/limits.h"
#include "udp_fixture.h"

namespace mrc::datapath {
namespace {

struct Failing {
  uint64_t mask = 0;  // bit n: call n fails
  int error = 0;
  uint32_t calls = 0;
  bool fails() {
    bool hit = calls < 64 && (mask >> calls & 1) != 0;
    ++calls;
    if (hit) errno = error;
    return hit;
  }
};

// The driver's table has plain functions, as the kernel's calls are: the state is global, one test at a time.
Failing g_socket, g_bind, g_setsockopt, g_connect, g_sendmsg, g_sendmmsg, g_recvmsg, g_recvmmsg;
unsigned g_sendmmsg_max = 64;  // sendmmsg takes at most so many messages at once

const UdpSyscalls kFailing = {
    [](int d, int t, int p) { return g_socket.fails() ? -1 : ::socket(d, t, p); },
    [](int fd, const sockaddr* a, socklen_t n) { return g_bind.fails() ? -1 : ::bind(fd, a, n); },
    [](int fd, int l, int n, const void* v, socklen_t s) {
      return g_setsockopt.fails() ? -1 : ::setsockopt(fd, l, n, v, s);
    },
    [](int fd, const sockaddr* a, socklen_t n) { return g_connect.fails() ? -1 : ::connect(fd, a, n); },
    [](int fd, const msghdr* m, int f) { return g_sendmsg.fails() ? ssize_t{-1} : ::sendmsg(fd, m, f); },
    [](int fd, mmsghdr* m, unsigned int n, int f) {
      return g_sendmmsg.fails() ? -1 : ::sendmmsg(fd, m, std::min(n, g_sendmmsg_max), f);
    },
    [](int fd, msghdr* m, int f) { return g_recvmsg.fails() ? ssize_t{-1} : ::recvmsg(fd, m, f); },
    [](int fd, mmsghdr* m, unsigned int n, int f, timespec* t) {
      return g_recvmmsg.fails() ? -1 : ::recvmmsg(fd, m, n, f, t);
    },
};

class UdpFailure : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Failing* f : {&g_socket, &g_bind, &g_setsockopt, &g_connect, &g_sendmsg, &g_sendmmsg, &g_recvmsg, &g_recvmmsg})
      *f = {};
    g_sendmmsg_max = 64;
  }
  std::unique_ptr<UdpDatapath> open(bool gso, bool gro, uint32_t planes = 1) {
    UdpConfig config = loopback_config(false, planes, planes);
    config.gso = gso ? Offload::kOn : Offload::kOff;
    config.gro = gro ? Offload::kOn : Offload::kOff;
    config.syscalls = &kFailing;
    auto dp = open_or_fail(config);
    for (Failing* f : {&g_socket, &g_bind, &g_setsockopt, &g_connect, &g_sendmsg, &g_sendmmsg, &g_recvmsg, &g_recvmmsg})
      *f = {};
    return dp;
  }
};

TEST_F(UdpFailure, every_socket_and_bind_at_opening) {
  for (Failing* f : {&g_socket, &g_bind}) {
    int needed = 0, wanted = 0;
    for (uint32_t n = 0; n < 16; ++n) {
      SetUp();
      f->mask = 1ull << n;
      f->error = EMFILE;
      UdpConfig config = loopback_config(false, 2, 4);
      config.gso = config.gro = Offload::kOff;  // the self-test tolerates its own failures
      config.syscalls = &kFailing;
      const auto dp = UdpDatapath::open(config);
      if (f->calls > n && dp) {  // a guard: the EV does without [MRC-SEC-12]
        ++wanted;
        EXPECT_NE((*dp)->exposure().find("from 1 of 4 source ports"), std::string::npos) << (*dp)->exposure();
      } else if (f->calls > n) {
        ++needed;
        EXPECT_EQ(dp.error().code, EMFILE);
        EXPECT_NE(dp.error().text.find("ulimit"), std::string::npos) << dp.error().text;
      } else {
        EXPECT_TRUE(dp) << dp.error().text;
        EXPECT_TRUE(!dp || (*dp)->exposure().empty());
      }
    }
    EXPECT_EQ(needed, 6);  // two planes, four EVs
    EXPECT_EQ(wanted, 4);
  }
}

TEST_F(UdpFailure, self_test_failure_falls_back) {
  for (uint32_t n = 0; n < 2; ++n) {
    SetUp();
    g_socket.mask = 1ull << n;
    g_socket.error = ENOBUFS;
    UdpConfig config = loopback_config(false, 1, 1);
    config.syscalls = &kFailing;
    auto dp = open_or_fail(config);
    EXPECT_FALSE(dp->gso());
    EXPECT_FALSE(dp->gro());
    EXPECT_EQ(dp->max_segments(), 8u);
    EXPECT_FALSE(dp->advice().empty());
  }
}

TEST_F(UdpFailure, offload_that_settings_insist_on_is_an_error) {
  g_sendmsg.mask = 1;
  g_sendmsg.error = EIO;
  UdpConfig config = loopback_config(false, 1, 1);
  config.gso = Offload::kOn;
  config.syscalls = &kFailing;
  const Error error = refusal(config);
  EXPECT_EQ(error.code, EOPNOTSUPP);
  EXPECT_NE(error.text.find("GSO"), std::string::npos) << error.text;
}

TEST_F(UdpFailure, interrupted_send_is_repeated) {
  auto a = open(true, true);
  auto b = open(true, true);
  g_sendmsg = {0b011, EINTR, 0};
  TestBurst t(3, 100, 100, 1);
  t.address(*a, *b, 0_ev, loopback(false));
  ASSERT_TRUE(a->tx_one(Instant(), t.burst));
  EXPECT_EQ(g_sendmsg.calls, 3u);
  EXPECT_EQ(joined(receive(*b, 3)), t.payload);
}

TEST_F(UdpFailure, full_socket_blocks_its_plane_only) {
  auto a = open(true, true, 2);
  auto b = open(true, true, 2);
  TestBurst first(3, 100, 100, 1);
  first.address(*a, *b, 0_ev, loopback(false));
  TestBurst second(3, 100, 100, 2);
  second.address(*a, *b, 1_ev, loopback(false));
  EXPECT_EQ(a->planes_with_room(), 0b11_planes);
  g_sendmsg = {0b1, EAGAIN, 0};
  const core::TxBurst* list[] = {&first.burst, &second.burst};
  EXPECT_EQ(a->tx_burst(Instant(), list, 2), 0);
  EXPECT_EQ(a->counters().tx_no_room, 1u);
  EXPECT_EQ(a->tx_burst(Instant(), list, 1), 0) << "the plane stays blocked until it is asked for";
  EXPECT_EQ(g_sendmsg.calls, 1u) << "and no system call is wasted on it";
  EXPECT_EQ(a->tx_burst(Instant(), list + 1, 1), 1) << "the other plane is not concerned";
  EXPECT_EQ(a->planes_with_room(), 0b11_planes) << "the socket is writable in truth";
  EXPECT_EQ(a->tx_burst(Instant(), list, 1), 1);
  EXPECT_EQ(receive(*b, 6).size(), 2u);
}

TEST_F(UdpFailure, wait_fds__report_when_a_blocked_plane_is_writable) {
  auto a = open(true, true);
  auto b = open(true, true);
  TestBurst t(1, 100, 100, 1);
  t.address(*a, *b, 0_ev, loopback(false));
  g_sendmsg = {0b1, EAGAIN, 0};
  EXPECT_FALSE(a->tx_one(Instant(), t.burst));
  pollfd wait{-1, POLLIN, 0};
  ASSERT_EQ(a->wait_fds(&wait.fd, 1), 1);
  EXPECT_EQ(::poll(&wait, 1, harness::limit_ms(2000)), 1);
  core::RxBurst in[2];
  EXPECT_EQ(a->rx_burst(Instant(), in, 2), 0);
  EXPECT_EQ(::poll(&wait, 1, 0), 0) << "reported once";
  EXPECT_TRUE(a->tx_one(Instant(), t.burst));
}

TEST_F(UdpFailure, refused_packets_are_lost_and_counted) {
  auto a = open(true, true);
  auto b = open(true, true);
  for (int error : {ENETUNREACH, EPERM, EMSGSIZE, ENOBUFS}) {
    g_sendmsg = {0b1, error, 0};
    uint64_t before = a->counters().tx_errors;
    TestBurst t(5, 100, 100, 1);
    t.address(*a, *b, 0_ev, loopback(false));
    EXPECT_TRUE(a->tx_one(Instant(), t.burst));
    EXPECT_EQ(a->counters().tx_errors, before + 5);
    // [MRC-MTU-1]
    const auto too_long = a->take_too_long();
    ASSERT_EQ(too_long.has_value(), error == EMSGSIZE);
    if (too_long) {
      EXPECT_EQ(too_long->plane, 0_plane);
      EXPECT_EQ(too_long->to, t.burst.flow.dst);
      EXPECT_FALSE(a->take_too_long().has_value()) << "once";
    }
  }
  EXPECT_EQ(a->counters().tx_packets, 0u);
  EXPECT_NE(a->describe().find("first send error: Network is unreachable"), std::string::npos) << a->describe();
}

TEST_F(UdpFailure, connects_once_per_streak_and_does_without_when_refused) {
  for (bool refuse : {false, true}) {
    auto a = open(true, true);
    auto b = open(true, true);
    g_connect = {refuse ? ~0ull : 0, EAGAIN, 0};
    uint32_t options = g_setsockopt.calls;
    for (uint32_t i = 0; i < 20; ++i) {
      TestBurst t(2, 100, 100, i);
      t.address(*a, *b, 0_ev, loopback(false), 0x2C);
      ASSERT_TRUE(a->tx_one(Instant(), t.burst));
      auto got = receive(*b, 2);
      ASSERT_EQ(joined(got), t.payload);
      ASSERT_EQ(got[0].flow.traffic_class, 0x2C);
      EXPECT_EQ(g_connect.calls, i < 8 ? 0u : 1u) << i;
    }
    EXPECT_EQ(g_setsockopt.calls - options, refuse ? 0u : 1u) << "the class is set when it changes only";
  }
}

TEST_F(UdpFailure, class_that_cannot_be_set_travels_beside_the_data) {
  auto a = open(true, true);
  auto b = open(true, true);
  g_setsockopt = {~0ull, EPERM, 0};
  for (uint32_t i = 0; i < 12; ++i) {
    TestBurst t(2, 100, 100, i);
    t.address(*a, *b, 0_ev, loopback(false), static_cast<uint8_t>(i << 2));
    ASSERT_TRUE(a->tx_one(Instant(), t.burst));
    auto got = receive(*b, 2);
    ASSERT_FALSE(got.empty());
    EXPECT_EQ(got[0].flow.traffic_class, i << 2);
  }
  EXPECT_GT(g_setsockopt.calls, 0u);
}

// The peer's process has gone: its host answers with ICMP, which a connected socket reports at a later send. Neither
// that send nor the error may be lost on the way to a process that has come back on the port.
TEST_F(UdpFailure, refused_by_a_peer_that_comes_back) {
  for (bool gso : {true, false}) {
    auto a = open(gso, true);
    auto b = open(gso, true);
    TestBurst t(3, 100, 100, 5);
    t.address(*a, *b, 0_ev, loopback(false));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(a->tx_one(Instant(), t.burst));
    receive(*b, 30);
    uint16_t port = b->plane_port(0_plane);
    b.reset();
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(a->tx_one(Instant(), t.burst));
    UdpConfig config = loopback_config(false, 1, 1);
    config.planes[0].port = port;
    auto again = open_or_fail(config);
    ASSERT_TRUE(a->tx_one(Instant(), t.burst));
    EXPECT_EQ(joined(receive(*again, 3)), t.payload);
    EXPECT_EQ(a->planes_with_room(), 1_planes);
  }
}

TEST_F(UdpFailure, interface_without_checksum_offload_gets_single_packets) {
  auto a = open(true, true);
  auto b = open(true, true);
  g_sendmsg = {0b1, EIO, 0};
  for (uint32_t round = 0; round < 2; ++round) {
    TestBurst t(5, 100, 70, round);
    t.address(*a, *b, 0_ev, loopback(false));
    ASSERT_TRUE(a->tx_one(Instant(), t.burst));
    EXPECT_EQ(joined(receive(*b, 5)), t.payload);
  }
  EXPECT_FALSE(a->gso());
  EXPECT_EQ(g_sendmsg.calls, 1u);
  EXPECT_EQ(g_sendmmsg.calls, 2u);
  EXPECT_EQ(a->counters().tx_errors, 0u);
}

TEST_F(UdpFailure, packets_that_are_too_long_do_not_end_segmentation) {
  auto a = open(true, true);
  auto b = open(true, true);
  TestBurst t(3, 100, 70, 1);
  t.address(*a, *b, 0_ev, loopback(false));
  g_sendmsg = {0b1, EINVAL, 0};  // some kernels return this when a segment exceeds the MTU
  g_sendmmsg = {0b111, EMSGSIZE, 0};
  EXPECT_TRUE(a->tx_one(Instant(), t.burst));
  EXPECT_EQ(a->counters().tx_errors, 3u);
  EXPECT_TRUE(a->gso());
  EXPECT_TRUE(a->tx_one(Instant(), t.burst));
  EXPECT_EQ(g_sendmsg.calls, 2u);
  EXPECT_EQ(joined(receive(*b, 3)), t.payload);
}

TEST_F(UdpFailure, part_of_a_burst_taken_then_full) {
  auto a = open(false, true);
  auto b = open(false, true);
  g_sendmmsg_max = 2;
  g_sendmmsg = {0b110, EAGAIN, 0};  // two packets, full, full again, then two by two
  TestBurst first(5, 100, 30, 1);
  first.address(*a, *b, 0_ev, loopback(false));
  TestBurst second(2, 60, 60, 2);
  second.address(*a, *b, 0_ev, loopback(false));
  EXPECT_TRUE(a->tx_one(Instant(), first.burst)) << "taken: the rest is kept";
  EXPECT_EQ(a->counters().tx_packets, 2u);
  std::fill(first.payload.begin() + 216, first.payload.end(), 0);  // the caller may use its memory again
  EXPECT_FALSE(a->tx_one(Instant(), second.burst));
  EXPECT_EQ(a->planes_with_room(), 0_planes) << "writable, but the rest did not go";
  EXPECT_EQ(a->planes_with_room(), 1_planes);
  EXPECT_TRUE(a->tx_one(Instant(), second.burst));
  auto bytes = joined(receive(*b, 7));
  ASSERT_EQ(bytes.size(), 430u + 120u);
  for (uint32_t i = 0; i < 430; ++i) ASSERT_EQ(bytes[i], pattern(1, i)) << i;
  for (uint32_t i = 0; i < 120; ++i) ASSERT_EQ(bytes[430 + i], pattern(2, i)) << i;
  EXPECT_EQ(a->counters().tx_packets, 7u);
}

TEST_F(UdpFailure, nothing_taken_leaves_the_burst_to_the_caller) {
  auto a = open(false, true);
  auto b = open(false, true);
  g_sendmmsg = {0b1, EAGAIN, 0};
  TestBurst t(5, 100, 30, 1);
  t.address(*a, *b, 0_ev, loopback(false));
  EXPECT_FALSE(a->tx_one(Instant(), t.burst));
  EXPECT_EQ(a->planes_with_room(), 1_planes);
  EXPECT_TRUE(a->tx_one(Instant(), t.burst));
  EXPECT_EQ(joined(receive(*b, 5)), t.payload);
}

TEST_F(UdpFailure, one_bad_packet_does_not_take_the_others_along) {
  auto a = open(false, true);
  auto b = open(false, true);
  g_sendmmsg_max = 2;
  g_sendmmsg = {0b10, ENOBUFS, 0};  // packets 0 and 1, packet 2 lost, 3 and 4
  TestBurst t(5, 100, 100, 1);
  t.address(*a, *b, 0_ev, loopback(false));
  EXPECT_TRUE(a->tx_one(Instant(), t.burst));
  auto bytes = joined(receive(*b, 4));
  std::vector<uint8_t> expected = t.payload;
  expected.erase(expected.begin() + 200, expected.begin() + 300);
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(a->counters().tx_errors, 1u);
  EXPECT_EQ(a->counters().tx_packets, 4u);
}

TEST_F(UdpFailure, receive_errors_are_survived) {
  for (bool gro : {true, false}) {
    auto a = open(true, gro);
    auto b = open(true, gro);
    (gro ? g_recvmsg : g_recvmmsg) = {0b0101, ENOMEM, 0};
    TestBurst t(4, 100, 100, 1);
    t.address(*a, *b, 0_ev, loopback(false));
    ASSERT_TRUE(a->tx_one(Instant(), t.burst));
    EXPECT_EQ(joined(receive(*b, 4)), t.payload);
    EXPECT_GE(b->counters().rx_errors, 1u);
  }
}

TEST_F(UdpFailure, interrupted_receive_is_repeated) {
  for (bool gro : {true, false}) {
    auto a = open(true, gro);
    auto b = open(true, gro);
    (gro ? g_recvmsg : g_recvmmsg) = {0b1, EINTR, 0};
    TestBurst t(4, 100, 100, 1);
    t.address(*a, *b, 0_ev, loopback(false));
    ASSERT_TRUE(a->tx_one(Instant(), t.burst));
    EXPECT_EQ(joined(receive(*b, 4)), t.payload);
    EXPECT_EQ(b->counters().rx_errors, 0u);
  }
}

TEST_F(UdpFailure, small_buffers_are_reported) {
  g_setsockopt.mask = ~0ull;  // no option is granted: default buffers
  g_setsockopt.error = EPERM;
  UdpConfig config = loopback_config(false, 1, 1);
  config.gso = config.gro = Offload::kOff;
  config.rcvbuf = 1u << 29;
  config.sndbuf = 1u << 29;
  config.syscalls = &kFailing;
  auto dp = open_or_fail(config);
  ASSERT_EQ(dp->advice().size(), 2u);
  EXPECT_NE(dp->advice()[0].find("net.core.rmem_max=536870912"), std::string::npos) << dp->advice()[0];
  EXPECT_NE(dp->advice()[1].find("net.core.wmem_max=536870912"), std::string::npos) << dp->advice()[1];
}

}  // namespace
}  // namespace mrc::datapath
