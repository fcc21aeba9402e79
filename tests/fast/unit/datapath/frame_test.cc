// Frames byte by byte, and what a reader makes of them, whole, cut and hostile [MRC-SR-11..15] [MRC-CHOICE-Q25].
#include "datapath/frame/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/text.h"

namespace mrc::datapath {
namespace {

using testing_text::hex;
using testing_text::ip;

wire::Flow example_flow() {
  wire::Flow flow;
  flow.src = ip("fcbb:bb01:101::");
  flow.dst = ip("fcbb:bb01:201::");
  flow.src_port = 0xC003;
  flow.dst_port = 4791;
  flow.flow_label = 3;
  flow.traffic_class = 4 << 2 | 2;
  return flow;
}

SegmentPath via(const UsidList& switches) {
  return compose_path(switches, example_flow().dst).value();
}

std::vector<uint8_t> frame(const wire::Flow& flow, const SegmentPath& path, uint32_t payload) {
  FrameHeader header;
  write_header(flow, path, payload, &header);
  std::vector<uint8_t> bytes(header.bytes.begin(), header.bytes.begin() + header.length);
  for (uint32_t i = 0; i < payload; ++i) bytes.push_back(static_cast<uint8_t>(i));
  return bytes;
}

const std::string kInner =
    "61200003"
    "001c"
    "11"
    "40"
    "fcbbbb01010100000000000000000000"
    "fcbbbb01020100000000000000000000"
    "c003"
    "12b7"
    "001c"
    "0000";

TEST(Frame, straight_to_the_peer_without_an_outer_header) {
  const auto bytes = frame(example_flow(), via({}), 20);
  EXPECT_EQ(hex(bytes.data(), bytes.size() - 20),
            "000000000000"
            "000000000000"
            "86dd" +
                kInner);
}

TEST(Frame, the_path_is_the_destination_of_an_outer_header) {
  const auto bytes = frame(example_flow(), via({0xF103, 0xE102}), 20);
  EXPECT_EQ(hex(bytes.data(), bytes.size() - 20),
            "00000000000000000000000086dd"
            "61200003"
            "0044"
            "29"
            "40"
            "fcbbbb01010100000000000000000000"
            "fcbbbb01f103e1020201000000000000" +
                kInner);
}

TEST(Frame, a_long_path_has_an_srh_with_one_segment) {
  const auto bytes = frame(example_flow(), via({1, 2, 3, 4, 5, 6, 7}), 20);
  EXPECT_EQ(hex(bytes.data(), bytes.size() - 20),
            "00000000000000000000000086dd"
            "61200003"
            "005c"
            "2b"
            "40"
            "fcbbbb01010100000000000000000000"
            "fcbbbb01000100020003000400050006"
            "29"
            "02"
            "04"
            "01"
            "00"
            "00"
            "0000"
            "fcbbbb01000702010000000000000000" +
                kInner);
}

TEST(Frame, mac_addresses) {
  FrameHeader header;
  write_header(example_flow(), via({}), 20, &header);
  set_macs({1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}, &header);
  EXPECT_EQ(hex(header.bytes.data(), 14), "0102030405060708090a0b0c86dd");
  EXPECT_EQ(header.packet_length(), header.length - 14);
  EXPECT_EQ(header.packet()[0] >> 4, 6);
}

std::optional<ParsedFrame> parse(const std::vector<uint8_t>& bytes, uint32_t without = 0) {
  return parse_frame(bytes.data(), static_cast<uint32_t>(bytes.size()) - without);
}

void expect_example(const ParsedFrame& got, const std::vector<uint8_t>& bytes) {
  const wire::Flow flow = example_flow();
  EXPECT_EQ(got.flow.src, flow.src);
  EXPECT_EQ(got.flow.dst, flow.dst);
  EXPECT_EQ(got.flow.src_port, flow.src_port);
  EXPECT_EQ(got.flow.dst_port, flow.dst_port);
  EXPECT_EQ(got.flow.flow_label, flow.flow_label);
  EXPECT_EQ(got.flow.traffic_class, flow.traffic_class);
  EXPECT_EQ(got.payload_bytes, 20u);
  EXPECT_EQ(got.payload, bytes.data() + bytes.size() - 20);
}

TEST(Frame, both_forms_are_read) {
  auto bytes = frame(example_flow(), via({}), 20);
  auto got = parse(bytes);
  ASSERT_TRUE(got.has_value());
  expect_example(*got, bytes);
  EXPECT_FALSE(got->encapsulated);
  bytes = frame(example_flow(), via({0xF103}), 20);
  got = parse(bytes);
  ASSERT_TRUE(got.has_value());
  expect_example(*got, bytes);
  EXPECT_TRUE(got->encapsulated);
  EXPECT_EQ(got->outer_destination, ip("fcbb:bb01:f103:201::"));
}

TEST(Frame, an_srh_is_read_when_no_segment_is_left) {
  auto bytes = frame(example_flow(), via({1, 2, 3, 4, 5, 6, 7}), 20);
  EXPECT_FALSE(parse(bytes).has_value());
  bytes[14 + 40 + 3] = 0;
  auto got = parse(bytes);
  ASSERT_TRUE(got.has_value());
  expect_example(*got, bytes);
  EXPECT_TRUE(got->encapsulated);
}

TEST(Frame, marks_of_either_header_count_and_the_outer_code_point) {
  wire::Flow flow = example_flow();
  auto outer_marked = frame(flow, via({1}), 20);
  outer_marked[15] |= 3 << 4;  // CE, as a switch marks
  auto got = parse(outer_marked);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->flow.ecn(), wire::Ecn::kCe);
  EXPECT_EQ(got->flow.dscp(), 4);
  auto inner_marked = frame(flow, via({1}), 20);
  inner_marked[14 + 40 + 1] |= 3 << 4;
  got = parse(inner_marked);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->flow.ecn(), wire::Ecn::kCe);
  flow.traffic_class = 12 << 2;
  auto trimmed = frame(example_flow(), via({1}), 20);
  const auto as_trimmed = frame(flow, via({1}), 20);
  std::copy_n(as_trimmed.begin() + 14, 4, trimmed.begin() + 14);
  got = parse(trimmed);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->flow.dscp(), 12);
}

TEST(Frame, the_outer_label_stands_in_for_an_inner_zero) {
  auto bytes = frame(example_flow(), via({1}), 20);
  bytes[14 + 40 + 3] = 0;
  auto got = parse(bytes);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->flow.flow_label, 3u);
}

TEST(Frame, trimmed_and_padded_payloads) {
  auto bytes = frame(example_flow(), via({1}), 200);
  auto got = parse(bytes, 150);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->payload_bytes, 50u);
  bytes.resize(bytes.size() + 6);
  got = parse(bytes);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->payload_bytes, 200u);
}

TEST(Frame, cut_at_every_byte_of_the_headers) {
  for (const UsidList& switches : {UsidList{}, UsidList{1}, UsidList{1, 2, 3, 4, 5, 6}}) {
    auto bytes = frame(example_flow(), via(switches), 20);
    if (switches.size() == 6) bytes[14 + 40 + 3] = 0;
    for (size_t n = 0; n < bytes.size() - 20; ++n) {
      const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
      EXPECT_FALSE(parse(cut).has_value()) << n;
    }
  }
}

TEST(Frame, frames_of_another_form_are_refused) {
  const auto good = frame(example_flow(), via({1}), 20);
  const auto refused = [&](size_t at, uint8_t value) {
    auto bytes = good;
    bytes[at] = value;
    return !parse(bytes).has_value();
  };
  EXPECT_TRUE(refused(13, 0x00));            // not IPv6
  EXPECT_TRUE(refused(14, 0x45));            // version 4
  EXPECT_TRUE(refused(14 + 6, 6));           // TCP
  EXPECT_TRUE(refused(54, 0x45));            // version 4 inside
  EXPECT_TRUE(refused(54 + 6, 41));          // a third IPv6 header
  EXPECT_TRUE(refused(54 + 40 + 5, 7));      // a UDP length below its header
  EXPECT_FALSE(refused(54 + 40 + 6, 0xAB));  // a UDP checksum is not looked at
}

}  // namespace
}  // namespace mrc::datapath
