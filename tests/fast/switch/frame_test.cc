// The fields of a frame that a switch reads, and its changes; both sides of every length
// [MRC-SW-4] [MRC-SW-CHOICE-1] [MRC-SW-CHOICE-2] [MRC-SW-CHOICE-3].
#include "frame.h"

#include <gtest/gtest.h>

#include "frames.h"

namespace mrc::softswitch {
namespace {

constexpr uint32_t kPlainHeaders = kEthernetHeader + kIpHeader + kUdpHeader;
constexpr uint32_t kTunnelHeaders = kPlainHeaders + kIpHeader;

class FrameTest : public testing::Test {
 protected:
  Frame* make(const FrameSpec& s) { return parsed(&pool_, s); }
  FramePool pool_{10000, 100};
};

TEST_F(FrameTest, classes_follow_the_code_point) {
  const auto seen = [&](int dscp) {
    FrameSpec s;
    s.traffic_class = static_cast<uint8_t>(dscp << 2);
    const Frame* f = make(s);
    return std::make_pair(f->tc, f->trimmable);
  };
  EXPECT_EQ(seen(0), std::make_pair(TrafficClass::kData, false));
  EXPECT_EQ(seen(4), std::make_pair(TrafficClass::kData, true));
  EXPECT_EQ(seen(8), std::make_pair(TrafficClass::kData, true));
  EXPECT_EQ(seen(12), std::make_pair(TrafficClass::kTrimmed, false));
  EXPECT_EQ(seen(16), std::make_pair(TrafficClass::kTrimmed, false));
  EXPECT_EQ(seen(46), std::make_pair(TrafficClass::kControl, false));
  EXPECT_EQ(seen(48), std::make_pair(TrafficClass::kData, false));
}

TEST_F(FrameTest, a_truncated_or_foreign_packet_is_refused) {
  const std::vector<uint8_t> whole = bytes_of({});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    Frame* f = put(&pool_, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)});
    EXPECT_FALSE(parse(f, CodePoints())) << bytes;
    pool_.release(f);
  }
  std::vector<uint8_t> other = whole;
  other[13] = 0;  // not IPv6 by its Ethernet type
  EXPECT_FALSE(parse(put(&pool_, other), CodePoints()));
  other = whole;
  other[14] = 0x45;
  EXPECT_FALSE(parse(put(&pool_, other), CodePoints()));
}

TEST_F(FrameTest, padding_is_cut_off) {
  FrameSpec s;
  s.payload = 2;
  std::vector<uint8_t> padded = bytes_of(s);
  const size_t whole = padded.size();
  padded.resize(whole + 20);
  Frame* f = put(&pool_, padded);
  ASSERT_TRUE(parse(f, CodePoints()));
  EXPECT_EQ(f->bytes, whole);
}

TEST_F(FrameTest, trim_makes_every_length_that_of_the_rest) {
  Frame* f = make({});
  trim(f, 104, 12);
  EXPECT_EQ(f->bytes, 104u);
  EXPECT_EQ(word(*f, kEthernetHeader + 4), 104 - kEthernetHeader - kIpHeader);
  EXPECT_EQ(word(*f, f->transport + 4), 104 - kEthernetHeader - kIpHeader);
  EXPECT_EQ(word(*f, f->transport + 6), 0u) << "the checksum is void";
  EXPECT_EQ(traffic_class(*f), 12 << 2 | 2) << "ECN stays";
  EXPECT_EQ(f->tc, TrafficClass::kTrimmed);
  EXPECT_FALSE(f->trimmable);
  for (uint32_t i = kPlainHeaders; i < f->bytes; ++i) EXPECT_EQ(f->data[i], static_cast<uint8_t>(i - kPlainHeaders));
}

TEST_F(FrameTest, trim_leaves_the_transport_headers_whole) {
  Frame* plain = make({});
  trim(plain, 10, 12);
  EXPECT_EQ(plain->bytes, kPlainHeaders + kTrimKeeps);
  FrameSpec tunnel;
  tunnel.outer_to = "fcbb:bb00:400::";
  Frame* f = make(tunnel);
  trim(f, kTunnelHeaders + kTrimKeeps, 16);
  EXPECT_EQ(f->bytes, kTunnelHeaders + kTrimKeeps);
  EXPECT_EQ(word(*f, kEthernetHeader + 4), f->bytes - kEthernetHeader - kIpHeader);
  EXPECT_EQ(word(*f, f->inner + 4), kUdpHeader + kTrimKeeps);
  EXPECT_EQ(word(*f, f->transport + 4), kUdpHeader + kTrimKeeps);
  EXPECT_EQ(f->data[f->inner] & 15, 4) << "the inner header has the code point, too: 16 << 2 is 0x40";
}

TEST_F(FrameTest, a_short_packet_is_trimmed_without_being_cut) {
  FrameSpec s;
  s.payload = 32;  // a probe
  Frame* f = make(s);
  trim(f, 104, 12);
  EXPECT_EQ(f->bytes, kPlainHeaders + 32);
  EXPECT_EQ(word(*f, f->transport + 4), kUdpHeader + 32);
  EXPECT_EQ(f->tc, TrafficClass::kTrimmed);
}

TEST_F(FrameTest, marks_all_headers_that_say_ect) {
  FrameSpec s;
  s.outer_to = "fcbb:bb00:400::";
  Frame* f = make(s);
  EXPECT_TRUE(mark_ce(f));
  EXPECT_EQ(traffic_class(*f) & 3, 3);
  EXPECT_EQ(f->data[f->inner + 1] >> 4 & 3, 3);
  s.traffic_class = 4 << 2;
  EXPECT_FALSE(mark_ce(make(s)));
}

TEST_F(FrameTest, takes_the_next_segment_of_an_srh) {
  FrameSpec s;
  s.payload = 100;  // the length stays below 256
  std::vector<uint8_t> bytes = bytes_of(s);
  std::vector<uint8_t> srh = {17, 2, 4, 1, 0, 0, 0, 0};
  for (const uint8_t b : ip("fcbb:bb00:c00::").bytes) srh.push_back(b);
  bytes.insert(bytes.begin() + kEthernetHeader + kIpHeader, srh.begin(), srh.end());
  bytes[kEthernetHeader + 6] = 43;
  bytes[kEthernetHeader + 5] = static_cast<uint8_t>(bytes[kEthernetHeader + 5] + srh.size());
  Frame* f = put(&pool_, bytes);
  ASSERT_TRUE(parse(f, CodePoints()));
  EXPECT_EQ(f->transport, kPlainHeaders - kUdpHeader + srh.size());
  EXPECT_TRUE(advance_segment(f));
  EXPECT_EQ(destination(*f), ip("fcbb:bb00:c00::"));
  EXPECT_FALSE(advance_segment(f)) << "no segment is left";
  f->data[kEthernetHeader + kIpHeader + 3] = 3;
  EXPECT_FALSE(advance_segment(f)) << "more left than there are";
}

TEST_F(FrameTest, flows_have_hashes_of_their_own) {
  FrameSpec s;
  const uint64_t first = flow_hash(*make(s), 1);
  EXPECT_EQ(flow_hash(*make(s), 1), first);
  EXPECT_NE(flow_hash(*make(s), 2), first);
  s.source_port = 50001;
  EXPECT_NE(flow_hash(*make(s), 1), first);
  s = {};
  s.flow_label = 7;
  EXPECT_NE(flow_hash(*make(s), 1), first);
}

}  // namespace
}  // namespace mrc::softswitch
