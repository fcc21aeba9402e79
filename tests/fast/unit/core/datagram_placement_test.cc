// [MRC-UD-6]
#include "core/datagram_placement.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::core {
namespace {

uint32_t sum_of_words(const uint8_t* p) {
  uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) sum += static_cast<uint32_t>(p[i] << 8 | p[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum;
}

TEST(DatagramPlacement, ipv4_header_in_the_last_twenty_bytes) {
  wire::Flow flow;
  flow.traffic_class = 0x62;
  const Grh grh = make_grh(flow, IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 0, 2), 100);
  EXPECT_EQ(std::vector<uint8_t>(grh.begin(), grh.begin() + 20), std::vector<uint8_t>(20));
  EXPECT_EQ(grh[20], 0x45);
  EXPECT_EQ(grh[21], 0x62);
  EXPECT_EQ(grh[22] << 8 | grh[23], 128);
  EXPECT_EQ(grh[29], 17);
  EXPECT_EQ(std::vector<uint8_t>(grh.begin() + 32, grh.end()), (std::vector<uint8_t>{10, 0, 0, 1, 10, 0, 0, 2}));
  EXPECT_EQ(sum_of_words(grh.data() + 20), 0xFFFFu);  // programs recognise the version by its checksum
}

TEST(DatagramPlacement, ipv6_header_otherwise) {
  wire::Flow flow;
  flow.traffic_class = 0x62;
  flow.flow_label = 0x12345;
  const IpAddress six = IpAddress::parse("fd00::1").value();
  const Grh grh = make_grh(flow, six, IpAddress::v4(10, 0, 0, 2), 100);
  EXPECT_EQ(std::vector<uint8_t>(grh.begin(), grh.begin() + 8),
            (std::vector<uint8_t>{0x66, 0x21, 0x23, 0x45, 0, 108, 17, 64}));
  EXPECT_TRUE(std::equal(six.bytes.begin(), six.bytes.end(), grh.begin() + 8));
  EXPECT_EQ(std::vector<uint8_t>(grh.begin() + 34, grh.end()), (std::vector<uint8_t>{0xFF, 0xFF, 10, 0, 0, 2}));
}

class DatagramPlacementTest : public testing::Test {
 protected:
  bool place(const std::vector<Sge>& sges, uint32_t pd = 1) {
    DatagramReceiveQueue::Request to;
    to.sges = sges.data();
    to.num_sge = static_cast<uint32_t>(sges.size());
    Grh grh;
    grh.fill(0xEE);
    const std::vector<uint8_t> data(10, 0xDD);
    return place_datagram(table_, pd, to, grh, data);
  }
  uint64_t at(size_t offset) const { return reinterpret_cast<uint64_t>(memory_.data()) + offset; }

  std::vector<uint8_t> memory_ = std::vector<uint8_t>(256);
  MemoryTable table_{1};
  Key key_ = table_.add(memory_.data(), at(0), memory_.size(), kAccessLocalWrite, 1);
  Key read_only_ = table_.add(memory_.data(), at(0), memory_.size(), 0, 1);
};

TEST_F(DatagramPlacementTest, elements_are_filled_in_order) {
  EXPECT_TRUE(place({{at(100), 30, key_}, {at(0), 15, key_}, {at(50), 20, key_}}));
  for (size_t i = 0; i < 256; ++i) {
    const bool header = (i >= 100 && i < 130) || i < 10;
    const bool data = (i >= 10 && i < 15) || (i >= 50 && i < 55);
    EXPECT_EQ(memory_[i], header ? 0xEE : data ? 0xDD : 0) << i;
  }
}

TEST_F(DatagramPlacementTest, keys_domains_ranges_and_access_are_checked) {
  EXPECT_TRUE(place({{at(0), 50, key_}}));
  EXPECT_FALSE(place({{at(0), 49, key_}}));
  EXPECT_FALSE(place({{at(0), 50, key_}}, 2));
  EXPECT_FALSE(place({{at(0), 50, read_only_}}));
  EXPECT_FALSE(place({{at(0), 50, Key(5)}}));
  EXPECT_FALSE(place({{at(210), 50, key_}}));
  EXPECT_TRUE(place({{at(206), 50, key_}}));
}

}  // namespace
}  // namespace mrc::core
