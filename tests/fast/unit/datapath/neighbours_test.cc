// Neighbour solicitations and advertisements byte by byte, and the table of solicitations [MRC-SR-20].
#include "datapath/frame/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "datapath/frame/checksum.h"
#include "datapath/frame/gateway.h"
#include "datapath/frame/neighbour_message.h"
#include "harness/text.h"

namespace mrc::datapath {
namespace {

using testing_text::hex;
using testing_text::ip;

using Found = Neighbours::Found;

const MacAddress kOwn = {2, 0, 0, 0, 0, 1};
const MacAddress kOther = {2, 0, 0, 0, 0, 2};

TEST(Checksum, example_and_odd_lengths) {
  // A datagram of 3 bytes from port 1 to port 2, fd00::1 to fd00::2, summed by hand:
  // addresses fd00+1+fd00+2, length 11, next header 17, ports 1+2, length 11, data 6162+6300.
  const uint8_t udp[] = {0, 1, 0, 2, 0, 11, 0, 0, 'a', 'b', 'c'};
  uint32_t sum = 0xfd00 + 1 + 0xfd00 + 2 + 11 + 17 + 1 + 2 + 11 + 0x6162 + 0x6300;
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  EXPECT_EQ(ipv6_checksum(ip("fd00::1"), ip("fd00::2"), 17, udp, sizeof(udp)), 0xFFFF - sum);
}

TEST(Checksum, is_nothing_over_what_holds_it_and_differs_when_a_bit_does) {
  std::vector<uint8_t> data(1501);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 7 + i / 256);
  for (uint32_t n : {8u, 9u, 63u, 64u, 1501u}) {
    data[6] = data[7] = 0;
    const uint16_t sum = ipv6_checksum(ip("fd00::1"), ip("fd00::2"), 17, data.data(), n);
    data[6] = static_cast<uint8_t>(sum >> 8);
    data[7] = static_cast<uint8_t>(sum);
    EXPECT_EQ(ipv6_checksum(ip("fd00::1"), ip("fd00::2"), 17, data.data(), n), 0) << n;
    data[n - 1] ^= 0x10;
    EXPECT_NE(ipv6_checksum(ip("fd00::1"), ip("fd00::2"), 17, data.data(), n), 0) << n;
    data[n - 1] ^= 0x10;
  }
}

// As RFC 1071 describes it, by 16 bits.
uint16_t plain_checksum(const IpAddress& from, const IpAddress& to, const uint8_t* data, uint32_t bytes) {
  uint64_t sum = bytes + 17;
  for (const IpAddress& address : {from, to})
    for (size_t i = 0; i < 16; i += 2) sum += static_cast<uint64_t>(address.bytes[i] << 8 | address.bytes[i + 1]);
  for (uint32_t i = 0; i < bytes; ++i) sum += i % 2 == 0 ? uint64_t{data[i]} << 8 : data[i];
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

TEST(Checksum, every_length_and_alignment_around_the_blocks_that_are_summed_at_once) {
  std::vector<uint8_t> data(9000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 31 + i / 253);
  std::vector<uint32_t> lengths = {1000, 4095, 4096, 4152, 8191, 8960};
  for (uint32_t n = 0; n <= 200; ++n) lengths.push_back(n);
  for (const uint32_t n : lengths) {
    for (const uint32_t offset : {0u, 1u, 2u, 7u, 31u})
      EXPECT_EQ(ipv6_checksum(ip("fd00::1"), ip("fd00::2"), 17, data.data() + offset, n),
                plain_checksum(ip("fd00::1"), ip("fd00::2"), data.data() + offset, n))
          << n << " bytes at " << offset;
  }
  std::fill(data.begin(), data.end(), uint8_t{0xFF});  // the largest sums
  EXPECT_EQ(ipv6_checksum(ip("fd00::1"), ip("fd00::2"), 17, data.data(), 8960),
            plain_checksum(ip("fd00::1"), ip("fd00::2"), data.data(), 8960));
}

TEST(NeighbourMessage, a_solicitation) {
  NeighbourFrame frame;
  write_solicitation(ip("fd00::1"), kOwn, ip("fd00::12:3456"), &frame);
  EXPECT_EQ(hex(frame.data(), 54),
            "3333ff123456"
            "020000000001"
            "86dd"
            "60000000"
            "0020"
            "3a"
            "ff"
            "fd000000000000000000000000000001"
            "ff0200000000000000000001ff123456");
  EXPECT_EQ(hex(frame.data() + 54, 2), "8700");
  EXPECT_EQ(hex(frame.data() + 58, 28),
            "00000000"
            "fd000000000000000000000000123456"
            "0101020000000001");
  const auto got = parse_neighbour(frame.data(), frame.size());
  ASSERT_TRUE(got.has_value());
  EXPECT_TRUE(got->solicitation);
  EXPECT_EQ(got->from, ip("fd00::1"));
  EXPECT_EQ(got->target, ip("fd00::12:3456"));
  EXPECT_TRUE(got->has_mac);
  EXPECT_EQ(got->mac, kOwn);
}

TEST(NeighbourMessage, an_advertisement_goes_to_the_requester) {
  NeighbourMessage query;
  query.from = ip("fd00::1");
  query.target = ip("fd00::2");
  NeighbourFrame frame;
  write_advertisement(ip("fd00::2"), kOther, query, kOwn, &frame);
  EXPECT_EQ(hex(frame.data(), 12), "020000000001020000000002");
  EXPECT_EQ(frame[54], 136);
  EXPECT_EQ(frame[58], 0x60);  // solicited, override
  const auto got = parse_neighbour(frame.data(), frame.size());
  ASSERT_TRUE(got.has_value());
  EXPECT_FALSE(got->solicitation);
  EXPECT_EQ(got->target, ip("fd00::2"));
  EXPECT_EQ(got->mac, kOther);
}

TEST(NeighbourMessage, a_check_for_duplicates_is_answered_at_all_nodes) {
  NeighbourMessage query;
  query.target = ip("fd00::2");
  NeighbourFrame frame;
  write_advertisement(ip("fd00::2"), kOther, query, kOwn, &frame);
  EXPECT_EQ(hex(frame.data(), 6), "333300000001");
  EXPECT_EQ(hex(frame.data() + 38, 16), "ff020000000000000000000000000001");
  EXPECT_EQ(frame[58], 0x20);
}

TEST(NeighbourMessage, cut_changed_and_forwarded_ones_are_refused) {
  NeighbourFrame good;
  write_solicitation(ip("fd00::1"), kOwn, ip("fd00::2"), &good);
  for (size_t n = 0; n < good.size(); ++n) {
    const std::vector<uint8_t> cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(n));
    EXPECT_FALSE(parse_neighbour(cut.data(), static_cast<uint32_t>(n)).has_value()) << n;
  }
  for (size_t at : {13, 19, 20, 21, 30, 54, 55, 56, 57, 70, 78, 79, 85}) {
    NeighbourFrame bad = good;
    bad[at] ^= 1;
    EXPECT_FALSE(parse_neighbour(bad.data(), bad.size()).has_value()) << at;
  }
}

TEST(Neighbours, asks_waits_and_knows) {
  Neighbours table;
  const IpAddress hop = ip("fd00::2");
  Instant now = Instant::from_ns(1);
  EXPECT_TRUE(table.find(hop, now).solicit);
  const Neighbours::Answer second = table.find(hop, now);
  EXPECT_FALSE(second.solicit);
  EXPECT_EQ(second.found, Found::kAwaited);
  EXPECT_TRUE(table.learn(hop, kOther, now));
  const Neighbours::Answer known = table.find(hop, now);
  EXPECT_EQ(known.found, Found::kKnown);
  EXPECT_EQ(known.mac, kOther);
  EXPECT_FALSE(known.solicit);
}

TEST(Neighbours, gives_up_after_its_questions_and_tries_anew) {
  Neighbours table;
  const IpAddress hop = ip("fd00::2");
  Instant now = Instant::from_ns(1);
  for (uint32_t i = 0; i < Neighbours::kMaxSolicitations; ++i) {
    EXPECT_TRUE(table.find(hop, now).solicit) << i;
    EXPECT_FALSE(table.find(hop, now + Neighbours::kSolicitInterval - Duration::nanoseconds(1)).solicit) << i;
    now = now + Neighbours::kSolicitInterval;
  }
  EXPECT_EQ(table.find(hop, now).found, Found::kAbsent);
  EXPECT_FALSE(table.find(hop, now).solicit);
  now = now + Neighbours::kAbsentFor;
  const Neighbours::Answer anew = table.find(hop, now);
  EXPECT_TRUE(anew.solicit);
  EXPECT_EQ(anew.found, Found::kAwaited);
}

TEST(Neighbours, an_old_one_is_used_while_it_is_asked_and_then_forgotten) {
  Neighbours table;
  const IpAddress hop = ip("fd00::2");
  Instant now = Instant::from_ns(1);
  table.find(hop, now);
  table.learn(hop, kOther, now);
  now = now + Neighbours::kFreshFor;
  for (uint32_t i = 0; i < Neighbours::kMaxSolicitations; ++i, now = now + Neighbours::kSolicitInterval) {
    const Neighbours::Answer answer = table.find(hop, now);
    EXPECT_TRUE(answer.solicit) << i;
    EXPECT_EQ(answer.found, Found::kKnown) << i;
  }
  now = now + Neighbours::kAbsentFor;
  EXPECT_EQ(table.find(hop, now).found, Found::kAwaited);
  table.learn(hop, kOwn, now);
  EXPECT_EQ(table.find(hop, now).mac, kOwn);
}

TEST(Neighbours, an_unsolicited_answer_is_not_remembered) {
  Neighbours table;
  EXPECT_FALSE(table.learn(ip("fd00::2"), kOther, Instant::from_ns(1)));
  EXPECT_EQ(table.find(ip("fd00::2"), Instant::from_ns(1)).found, Found::kAwaited);
}

TEST(Gateway, addresses_and_words) {
  auto got = parse_gateways("", 2);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->at(1).kind, Gateway::Kind::kNone);
  got = parse_gateways("fe80::1", 2);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->at(1).kind, Gateway::Kind::kAddress);
  EXPECT_EQ(got->at(1).address, ip("fe80::1"));
  got = parse_gateways(" 02:00:00:00:0a:Ff ;\n link ", 2);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->at(0).kind, Gateway::Kind::kMac);
  EXPECT_EQ(got->at(0).mac, (MacAddress{2, 0, 0, 0, 10, 255}));
  EXPECT_EQ(got->at(1).kind, Gateway::Kind::kNone);
  for (const char* bad : {"fe80::1;link;link", "10.0.0.1", "02:00:00:00:00", "02:00:00:00:00:0g", "gateway"}) {
    got = parse_gateways(bad, 2);
    ASSERT_FALSE(got) << bad;
    EXPECT_FALSE(got.error().text.empty());
  }
}

}  // namespace
}  // namespace mrc::datapath
