// When a transmit socket is connected, and when its messages need an address.
#include "datapath/udp/socket_connection.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace mrc::datapath {
namespace {

// The table's functions have no other state.
int g_connects = 0, g_options = 0;
bool g_fail_connect = false, g_fail_option = false;

const UdpSyscalls kConnectOnly = [] {
  UdpSyscalls sys{};
  sys.connect = [](int, const sockaddr*, socklen_t) {
    ++g_connects;
    return g_fail_connect ? -1 : 0;
  };
  sys.setsockopt = [](int, int, int, const void*, socklen_t) {
    ++g_options;
    return g_fail_option ? -1 : 0;
  };
  return sys;
}();

class SocketConnectionTest : public ::testing::Test {
 protected:
  SocketConnectionTest() {
    g_connects = g_options = 0;
    g_fail_connect = g_fail_option = false;
  }
  bool use(uint8_t host, uint8_t traffic_class = 0) {
    wire::Flow flow;
    flow.dst = IpAddress::v4(127, 0, 0, host);
    flow.dst_port = 4791;
    flow.traffic_class = traffic_class;
    header_.set_address(flow.dst, flow.dst_port, 0, 0);
    return connection_.use(kConnectOnly, 3, flow, header_);
  }
  void use_often(uint8_t host) {
    for (int i = 0; i <= SocketConnection::kConnectAfter; ++i) (void)use(host);
  }

  MessageHeader header_;
  SocketConnection connection_;
};

TEST_F(SocketConnectionTest, use__connects_after_bursts_in_a_row) {
  for (int i = 0; i < SocketConnection::kConnectAfter; ++i) EXPECT_FALSE(use(1)) << i;
  EXPECT_EQ(g_connects, 0);
  EXPECT_TRUE(use(1));
  EXPECT_TRUE(use(1));
  EXPECT_EQ(g_connects, 1);
  EXPECT_EQ(g_options, 1);
}

TEST_F(SocketConnectionTest, use__a_burst_elsewhere_is_explicit_and_breaks_the_row) {
  for (int i = 0; i < SocketConnection::kConnectAfter; ++i) EXPECT_FALSE(use(1));
  EXPECT_FALSE(use(2));
  for (int i = 0; i < SocketConnection::kConnectAfter; ++i) EXPECT_FALSE(use(1));
  EXPECT_TRUE(use(1));
  EXPECT_FALSE(use(2));
  EXPECT_TRUE(use(1)) << "it is still connected";
}

TEST_F(SocketConnectionTest, use__reconnects_when_bursts_elsewhere_continue) {
  use_often(1);
  use_often(2);
  EXPECT_EQ(g_connects, 2);
  EXPECT_TRUE(use(2));
  EXPECT_FALSE(use(1));
}

TEST_F(SocketConnectionTest, use__sets_the_traffic_class_when_it_changes) {
  use_often(1);
  EXPECT_EQ(g_options, 1);
  EXPECT_TRUE(use(1, 8));
  EXPECT_TRUE(use(1, 8));
  EXPECT_EQ(g_options, 2);
  g_fail_option = true;
  EXPECT_FALSE(use(1, 12));
}

TEST_F(SocketConnectionTest, use__stays_explicit_where_connect_fails_and_tries_once_per_row) {
  g_fail_connect = true;
  use_often(1);
  EXPECT_FALSE(use(1));
  EXPECT_FALSE(use(1));
  EXPECT_EQ(g_connects, 1);
}

}  // namespace
}  // namespace mrc::datapath
