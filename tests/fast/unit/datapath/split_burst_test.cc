// A burst cut into messages, and a kernel that takes only some of them.
#include "datapath/udp/split_burst.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

namespace mrc::datapath {
namespace {

// What the kernel was given, and how many messages it takes per call: the table's functions have no other state.
std::vector<std::string> g_sent;
std::vector<int> g_results;  // of the next calls: messages taken, or -errno; then all

const UdpSyscalls kSendmmsgOnly = [] {
  UdpSyscalls sys{};
  sys.sendmmsg = [](int, mmsghdr* msgs, unsigned int count, int) {
    int taken = static_cast<int>(count);
    if (!g_results.empty()) {
      taken = g_results.front();
      g_results.erase(g_results.begin());
    }
    if (taken < 0) {
      errno = -taken;
      return -1;
    }
    for (int i = 0; i < taken; ++i) {
      std::string text;
      const msghdr& m = msgs[i].msg_hdr;
      for (size_t v = 0; v < m.msg_iovlen; ++v)
        text += std::string(static_cast<const char*>(m.msg_iov[v].iov_base), m.msg_iov[v].iov_len);
      g_sent.push_back(text);
    }
    return taken;
  };
  return sys;
}();

class SplitBurstTest : public ::testing::Test {
 protected:
  SplitBurstTest() {
    g_sent.clear();
    g_results.clear();
    header_.set_address(IpAddress::v4(127, 0, 0, 1), 4791, 0, 0);
    errors_.set_destination(2_plane, IpAddress::v4(127, 0, 0, 1));
  }
  void cut(uint32_t segment_size, const std::vector<std::string>& pieces) {
    pieces_ = pieces;
    std::vector<iovec> iov;
    uint32_t bytes = 0;
    for (std::string& piece : pieces_) {
      iov.push_back({piece.data(), piece.size()});
      bytes += static_cast<uint32_t>(piece.size());
    }
    split_.cut(iov.data(), static_cast<uint32_t>(iov.size()), segment_size, bytes, &header_);
  }
  uint32_t send() { return split_.send(kSendmmsgOnly, 3, &errors_, &counters_); }

  std::vector<std::string> pieces_;
  MessageHeader header_;
  SendErrors errors_;
  DatapathCounters counters_;
  SplitBurst split_;
};

TEST_F(SplitBurstTest, cut__at_the_segments_whatever_the_pieces) {
  cut(4, {"abc", "", "defghi", "j"});
  EXPECT_EQ(split_.segments(), 3u);
  EXPECT_EQ(send(), 3u);
  EXPECT_EQ(g_sent, (std::vector<std::string>{"abcd", "efgh", "ij"}));
  EXPECT_EQ(counters_.tx_packets, 3u);
  EXPECT_EQ(counters_.tx_bytes, 10u);
  EXPECT_EQ(counters_.tx_calls, 1u);
}

TEST_F(SplitBurstTest, send__goes_on_behind_what_the_kernel_took) {
  cut(1, {"abcd"});
  g_results = {1, 2};
  EXPECT_EQ(send(), 4u);
  EXPECT_EQ(g_sent, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(counters_.tx_calls, 3u);
}

TEST_F(SplitBurstTest, send__ends_where_there_is_no_room) {
  cut(1, {"abcd"});
  g_results = {3, -EAGAIN};
  EXPECT_EQ(send(), 3u);
  EXPECT_EQ(counters_.tx_packets, 3u);
  EXPECT_EQ(counters_.tx_errors, 0u);
}

TEST_F(SplitBurstTest, send__a_refused_packet_is_lost_and_the_others_pass) {
  cut(1, {"abcd"});
  g_results = {1, -EMSGSIZE};
  EXPECT_EQ(send(), 4u);
  EXPECT_EQ(g_sent, (std::vector<std::string>{"a", "c", "d"}));
  EXPECT_EQ(counters_.tx_errors, 1u);
  const auto too_long = errors_.take_too_long();
  ASSERT_TRUE(too_long);
  EXPECT_EQ(too_long->plane, 2_plane);
  EXPECT_FALSE(errors_.take_too_long());
  EXPECT_FALSE(errors_.first().empty());
}

// An ICMP message for an earlier packet is reported once, and concerns none of these.
TEST_F(SplitBurstTest, send__a_refused_connection_is_tried_once_more) {
  cut(1, {"ab"});
  g_results = {-ECONNREFUSED, -EINTR};
  EXPECT_EQ(send(), 2u);
  EXPECT_EQ(counters_.tx_errors, 0u);
  cut(1, {"ab"});
  g_results = {-ECONNREFUSED, -ECONNREFUSED};
  EXPECT_EQ(send(), 2u);
  EXPECT_EQ(counters_.tx_errors, 1u);
}

}  // namespace
}  // namespace mrc::datapath
