// ICRC against zlib-made golden packets and against a bitwise CRC over bytes that are masked here by hand
// [MRC-ICRC-1..6].
#include "wire/icrc.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/rng.h"
#include "vectors.h"
#include "wire/packet.h"

namespace mrc::wire {
namespace {

using Bytes = std::vector<uint8_t>;

uint32_t bitwise_crc(const Bytes& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (uint8_t b : bytes) {
    crc ^= b;
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

Bytes text_bytes(const char* s) {
  return Bytes(s, s + std::char_traits<char>::length(s));
}

TEST(Icrc, bitwise_reference_is_the_ethernet_crc) {
  EXPECT_EQ(bitwise_crc(text_bytes("123456789")), 0xCBF43926u);
}

TEST(Icrc, update_chains) {
  Rng rng(3);
  Bytes data(5000);
  for (auto& b : data) b = static_cast<uint8_t>(rng.next());
  const uint32_t whole = bitwise_crc(data);
  EXPECT_EQ(icrc_finish(icrc_update(0, data.data(), data.size())), whole);
  for (int round = 0; round < 200; ++round) {
    uint32_t state = 0;
    size_t at = 0;
    while (at < data.size()) {
      const size_t n = std::min<size_t>(data.size() - at, rng.below(round % 2 != 0 ? 40 : 2000));
      state = icrc_update(state, data.data() + at, n);
      at += n;
    }
    ASSERT_EQ(icrc_finish(state), whole);
  }
}

TEST(Icrc, golden_packets) {
  const auto packets = golden_packets();
  ASSERT_FALSE(packets.empty());
  for (const GoldenPacket& g : packets) {
    SCOPED_TRACE(g.name);
    const uint32_t len = static_cast<uint32_t>(g.bytes.size());
    EXPECT_TRUE(icrc_check(g.flow, {g.bytes.data(), len}));
    EXPECT_EQ(icrc_compute(g.flow, {g.bytes.data(), len}), icrc_load(g.bytes.data() + len - 4));
  }
}

// The recipe by hand: IPv6 and UDP headers as they are on the wire, then the masks.
TEST(Icrc, recipe_over_real_ipv6_headers) {  // [MRC-ICRC-2]
  GoldenPacket g = golden_packets()[0];
  ASSERT_FALSE(g.flow.dst.is_v4());
  g.flow.flow_label = 0x71234;
  g.flow.traffic_class = 0x12;
  const uint32_t len = static_cast<uint32_t>(g.bytes.size());
  Bytes wire = {0x61, 0x27, 0x12, 0x34, 0, 0, 17, 64};  // traffic class 0x12, flow label 0x71234, hop limit 64
  wire[4] = static_cast<uint8_t>((len + 8) >> 8);
  wire[5] = static_cast<uint8_t>(len + 8);
  wire.insert(wire.end(), g.flow.src.bytes.begin(), g.flow.src.bytes.end());
  wire.insert(wire.end(), g.flow.dst.bytes.begin(), g.flow.dst.bytes.end());
  const uint8_t udp[8] = {0x12, 0x34, 0x12, 0xB7, wire[4], wire[5], 0xAB, 0xCD};
  wire.insert(wire.end(), udp, udp + 8);
  ASSERT_EQ(wire.size(), 48u);
  wire.insert(wire.end(), g.bytes.begin(), g.bytes.end() - 4);
  wire[0] |= 0x0F;  // traffic class, flow label
  wire[1] = wire[2] = wire[3] = 0xFF;
  wire[7] = 0xFF;              // hop limit
  wire[46] = wire[47] = 0xFF;  // UDP checksum
  wire[48 + 4] = 0xFF;         // BTH variant reserve
  wire.insert(wire.begin(), 8, 0xFF);
  EXPECT_EQ(icrc_compute(g.flow, {g.bytes.data(), len}), bitwise_crc(wire));
}

TEST(Icrc, recipe_over_real_ipv4_headers) {  // [MRC-ICRC-3]
  const GoldenPacket g = golden_packets()[1];
  ASSERT_TRUE(g.flow.dst.is_v4());
  const uint32_t len = static_cast<uint32_t>(g.bytes.size());
  Bytes wire = {0x45, 0x12, 0, 0, 0, 0, 0x40, 0, 64, 17, 0x12, 0x34, 10, 0, 0, 1, 10, 0, 0, 2};
  wire[2] = static_cast<uint8_t>((len + 28) >> 8);
  wire[3] = static_cast<uint8_t>(len + 28);
  const uint8_t udp[8] = {0xC0, 0x01, 0x13, 0x6B, static_cast<uint8_t>((len + 8) >> 8), static_cast<uint8_t>(len + 8),
                          0xAB, 0xCD};
  wire.insert(wire.end(), udp, udp + 8);
  wire.insert(wire.end(), g.bytes.begin(), g.bytes.end() - 4);
  wire[1] = wire[8] = wire[10] = wire[11] = 0xFF;  // ToS, TTL, header checksum
  wire[26] = wire[27] = 0xFF;                      // UDP checksum
  wire[28 + 4] = 0xFF;                             // BTH variant reserve
  wire.insert(wire.begin(), 8, 0xFF);
  EXPECT_EQ(icrc_compute(g.flow, {g.bytes.data(), len}), bitwise_crc(wire));
}

TEST(Icrc, covers_ports_addresses_and_every_byte_but_the_variant_reserve) {  // [MRC-ICRC-2] [MRC-ICRC-4]
  for (const GoldenPacket& g : golden_packets()) {
    SCOPED_TRACE(g.name);
    const uint32_t len = static_cast<uint32_t>(g.bytes.size());
    for (uint32_t i = 0; i < len; ++i) {
      Bytes b = g.bytes;
      b[i] ^= 0x10;
      EXPECT_EQ(icrc_check(g.flow, {b.data(), len}), i == kBthVariantOffset) << i;
    }
    const auto with = [&](const std::function<void(Flow*)>& change) {
      Flow f = g.flow;
      change(&f);
      return icrc_check(f, {g.bytes.data(), len});
    };
    EXPECT_FALSE(with([](Flow* f) { f->src_port ^= 1; }));
    EXPECT_FALSE(with([](Flow* f) { f->dst_port ^= 1; }));
    EXPECT_FALSE(with([](Flow* f) { f->src.bytes[15] ^= 1; }));
    EXPECT_FALSE(with([](Flow* f) { f->dst.bytes[15] ^= 1; }));
    EXPECT_TRUE(with([](Flow* f) { f->flow_label = 0xFFFFF; }));  // routers and paths may change these
    EXPECT_TRUE(with([](Flow* f) { f->traffic_class = 0xFF; }));
  }
}

TEST(Icrc, prefix_is_shared_by_packets_of_one_length) {  // [MRC-ICRC-6]
  const GoldenPacket g = golden_packets()[0];
  const uint32_t len = static_cast<uint32_t>(g.bytes.size());
  const uint32_t prefix = icrc_start(g.flow, len);
  Bytes other = g.bytes;
  other[11] ^= 1;  // next PSN
  for (const Bytes& b : {g.bytes, other}) {
    uint32_t state = icrc_update_headers(prefix, {b.data(), 36});  // headers, then payload in two pieces
    state = icrc_update(state, b.data() + 36, 10);
    state = icrc_update(state, b.data() + 46, len - 4 - 46);
    EXPECT_EQ(icrc_finish(state), icrc_compute(g.flow, {b.data(), len}));
  }
  EXPECT_NE(icrc_start(g.flow, len + 4), prefix);
}

TEST(Icrc, trailer_is_least_significant_byte_first) {  // [MRC-ICRC-5]
  uint8_t p[4];
  icrc_store(p, 0x11223344);
  EXPECT_EQ(Bytes(p, p + 4), from_hex("44332211"));
  EXPECT_EQ(icrc_load(p), 0x11223344u);
}

TEST(Icrc, too_short_for_a_trailer_is_wrong) {
  const Flow flow = golden_packets()[0].flow;
  Bytes b(16);
  icrc_store(b.data() + 12, icrc_compute(flow, {b.data(), 16}));
  EXPECT_TRUE(icrc_check(flow, {b.data(), 16}));
  EXPECT_FALSE(icrc_check(flow, {b.data(), 15}));
  EXPECT_FALSE(icrc_check(flow, {}));
}

}  // namespace
}  // namespace mrc::wire
