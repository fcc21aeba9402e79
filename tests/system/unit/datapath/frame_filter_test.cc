// The filter of packet sockets, run by the kernel on a pair of sockets that needs no privilege.
#include "datapath/raw/frame_filter.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "datapath/frame/frame.h"
#include "datapath/udp/socket.h"
#include "harness/text.h"

namespace mrc::datapath {
namespace {

using testing_text::ip;

constexpr uint16_t kFirst = 4791, kSecond = 5000;

class FrameFilter : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends;
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    tx_ = Fd(ends[0]);
    rx_ = Fd(ends[1]);
    ASSERT_TRUE(attach_filter(rx_.get(), frame_filter(kFirst, kSecond)));
  }

  static std::vector<uint8_t> frame(uint16_t port, const UsidList& via) {
    wire::Flow flow;
    flow.src = ip("fcbb:bb01:1::");
    flow.dst = ip("fcbb:bb01:2::");
    flow.src_port = 50000;
    flow.dst_port = port;
    const std::optional<SegmentPath> path =
        via.empty() ? SegmentPath{flow.dst, {}, false} : compose_path(via, flow.dst);
    EXPECT_TRUE(path.has_value());
    FrameHeader header;
    write_header(flow, path.value(), 64, &header);
    std::vector<uint8_t> bytes(header.bytes.begin(), header.bytes.begin() + header.length);
    bytes.resize(bytes.size() + 64);
    return bytes;
  }

  bool passes(const std::vector<uint8_t>& bytes) {
    EXPECT_EQ(::send(tx_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT), static_cast<ssize_t>(bytes.size()));
    std::array<uint8_t, 512> in;
    return ::recv(rx_.get(), in.data(), in.size(), MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size());
  }

  const UsidList some_ = {0xE101, 0xF101}, many_ = {0xE101, 0xF101, 0xE102, 0xF102, 0xE103, 0xF103};
  Fd tx_, rx_;
};

// [MRC-SR-14] [MRC-SR-24]
TEST_F(FrameFilter, takes_both_ports_whatever_stands_before_them) {
  for (const UsidList& via : {UsidList(), some_, many_})
    for (uint16_t port : {kFirst, kSecond}) EXPECT_TRUE(passes(frame(port, via))) << via.size() << " " << port;
}

TEST_F(FrameFilter, leaves_other_processes_their_frames) {
  for (const UsidList& via : {UsidList(), some_, many_})
    for (uint16_t port : {kFirst - 1, kSecond + 1, 0})
      EXPECT_FALSE(passes(frame(static_cast<uint16_t>(port), via))) << via.size() << " " << port;
}

TEST_F(FrameFilter, takes_an_srh_before_the_udp_header) {
  std::vector<uint8_t> bytes = frame(kFirst, {});
  std::vector<uint8_t> srh(kSrhBytes);
  srh[0] = IPPROTO_UDP;
  srh[1] = 2;
  srh[2] = 4;
  bytes[kEthernetBytes + 6] = IPPROTO_ROUTING;
  bytes.insert(bytes.begin() + kEthernetBytes + kIpv6Bytes, srh.begin(), srh.end());
  EXPECT_TRUE(passes(bytes));
  bytes[kEthernetBytes + kIpv6Bytes] = IPPROTO_TCP;
  EXPECT_FALSE(passes(bytes));
}

TEST_F(FrameFilter, leaves_what_is_too_short_or_no_udp) {
  for (const UsidList& via : {UsidList(), some_, many_}) {
    std::vector<uint8_t> bytes = frame(kFirst, via);
    const size_t whole = bytes.size() - 64 - kUdpBytes + 4;  // up to the port
    bytes.resize(whole);
    EXPECT_TRUE(passes(bytes));
    for (size_t n = 1; n < whole; n += 7)
      EXPECT_FALSE(passes({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n)})) << n;
  }
  std::vector<uint8_t> tcp = frame(kFirst, {});
  tcp[kEthernetBytes + 6] = IPPROTO_TCP;
  EXPECT_FALSE(passes(tcp));
}

TEST_F(FrameFilter, port_0_is_no_second_port) {
  ASSERT_TRUE(attach_filter(rx_.get(), frame_filter(kFirst, 0)));
  EXPECT_TRUE(passes(frame(kFirst, some_)));
  EXPECT_FALSE(passes(frame(0, some_)));
}

}  // namespace
}  // namespace mrc::datapath
