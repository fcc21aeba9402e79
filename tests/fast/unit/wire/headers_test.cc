// Every header codec against the golden bytes, in both directions [MRC-BTH-*, MRC-METH-*, ... of spec/wire.md].
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <type_traits>

#include "vectors.h"
#include "wire/packet.h"

namespace mrc::wire {
namespace {

using nlohmann::json;

// The value of a vector's field: a number, a number as text where it may have more than 53 bits, an address, a list.
template <typename T>
T value_of(const json& f) {
  if constexpr (std::is_same_v<T, IpAddress>)
    return IpAddress::parse(f.get<std::string>()).value();
  else if constexpr (kIsArray<T>)
    return f.get<T>();
  else if (f.is_string())
    return from_bits<T>(std::stoull(f.get<std::string>(), nullptr, 0));
  else
    return from_bits<T>(static_cast<uint64_t>(f.get<int64_t>()));
}

// Calls visit(row, member) for each member that the header carries, those of both alternatives included.
template <typename Header, typename Visit>
void for_each_member(Header* h, Visit visit) {
  const auto one = [&]<typename P, typename C>(const Field<P, C>& f) {
    if constexpr (!P::kEmpty) visit(f.row, P::of(*h));
  };
  std::apply([&](const auto&... f) { (one(f), ...); }, Header::kFields);
}

// The first bytes of a buffer, as many as the header has.
template <typename Header, typename Buffer>
auto room(Buffer& buffer) {
  return std::span(buffer).template first<Header::kSize>();
}

// Runs every vector of one header; returns how many there were. Names and values of the fields are the vector's; the
// table of the header must have the same names.
template <typename Header>
size_t check_header() {
  size_t count = 0;
  for (const json& v : golden("headers")) {
    if (v.at("header") != Header::kInfo.name) continue;
    SCOPED_TRACE(v.at("name").get<std::string>());
    const std::vector<uint8_t> bytes = from_hex(v.at("hex"));
    const json& fields = v.at("fields");
    EXPECT_EQ(bytes.size(), Header::kSize);
    if (bytes.size() != Header::kSize) continue;
    Header decoded = Header::decode(room<Header>(bytes)), h;
    size_t members = 0;
    for_each_member(&decoded, [&](const FieldRow& r, const auto& value) {
      ++members;
      EXPECT_TRUE(value == value_of<std::remove_cvref_t<decltype(value)>>(fields.at(r.name))) << r.name;
    });
    EXPECT_EQ(members, fields.size());
    for_each_member(&h, [&](const FieldRow& r, auto& value) {
      value = value_of<std::remove_cvref_t<decltype(value)>>(fields.at(r.name));
    });
    std::vector<uint8_t> encoded(Header::kSize + 1, 0x5A);  // stale bytes must all be overwritten, and no more
    h.encode(room<Header>(encoded));
    EXPECT_EQ(encoded.back(), 0x5A);
    encoded.pop_back();
    EXPECT_EQ(encoded, bytes);
    ++count;
  }
  return count;
}

TEST(Headers, golden_vectors_both_directions) {
  size_t checked = 0;
  for_each_header([&]<typename Header>() {
    const size_t vectors = check_header<Header>();
    EXPECT_GT(vectors, 0u) << Header::kInfo.name << " has no vector in spec/vectors/wire_headers.json";
    checked += vectors;
  });
  EXPECT_EQ(checked, golden("headers").size());
}

// Reserved bits set by a peer change nothing: what is decoded encodes to the same bytes with those bits clear.
template <typename Header>
void check_reserved(const std::string& ones_expected) {
  const std::vector<uint8_t> ones(Header::kSize, 0xFF);
  std::vector<uint8_t> encoded(Header::kSize);
  Header::decode(room<Header>(ones)).encode(room<Header>(encoded));
  EXPECT_EQ(encoded, from_hex(ones_expected));
}

TEST(Headers, reserved_bits_are_ignored_and_sent_as_zero) {
  check_reserved<Bth>("ffbfffff00ffffffb0ffffff");  // M, variant, R and invariant reserve [MRC-BTH-2] [MRC-BTH-4]
  check_reserved<Tseth>("ffff800f");
  check_reserved<Deth>("ffffffff00ffffff");
  check_reserved<Seth>("0062ffffffffffffffffffff00ffffffffffffffffffffffffffffff");
  check_reserved<CcState>("ffff7fffffffffff");
  check_reserved<Neth>("0000ffffffffffffffffffff00ffffffff00ffff");
  check_reserved<Peth>("000000ffffff0000ffffffffffff800f");
  check_reserved<Erth>("000300ffffffffff00000000ffff800f");
  check_reserved<Plth>(std::string(64, 'f') + "c0000000");
  check_reserved<Eeth>("000c" + std::string(52, '0') + "ffff" + std::string(12, '0'));
}

TEST(Headers, values_wider_than_their_field_are_cut_not_spread) {
  uint8_t p[Seth::kSize];
  Bth bth;
  bth.pad = 7;
  bth.tver = 0x1F;
  bth.dqp = Qpn(0xAB123456);
  bth.encode(room<Bth>(p));
  EXPECT_EQ(p[1], 0x3F);
  EXPECT_EQ(p[4], 0);
  p[1] |= 0x40;  // M of InfiniBand: never sent, ignored on receipt [MRC-CHOICE-Q31]
  EXPECT_EQ(Bth::decode(room<Bth>(p)).pad, 3);
  EXPECT_EQ(Bth::decode(room<Bth>(p)).tver, 0xF);
  CcState cc;
  cc.ooo_count = 0xFFFF;
  cc.rcv_cwnd_pen = 0xFF;
  cc.rcvd_bytes = 0xAB000001;
  cc.encode(room<CcState>(p));
  EXPECT_EQ(std::vector<uint8_t>(p, p + 8), from_hex("00007fff7f000001"));
}

TEST(Headers, sack_psns_are_relative_to_cumulative) {  // [MRC-SACK-2] [MRC-SACK-3]
  Seth h;
  h.cack_psn = Psn(0xFFFFFE);
  h.ack_psn_offset = 5;
  EXPECT_EQ(h.ack_psn().value(), 3u);
}

TEST(Headers, timestamp_ticks_are_128ns) {  // [MRC-TSETH-2]
  EXPECT_EQ(timestamp_of(Instant::from_ns(127)), 0);
  EXPECT_EQ(timestamp_of(Instant::from_ns(128)), 1);
  EXPECT_EQ(timestamp_of(Instant::from_ns(128 * 65535 + 127)), 65535);
  EXPECT_EQ(timestamp_of(Instant::from_ns(128 * 65536)), 0);
}

TEST(Headers, syndromes_to_1f_are_acks_and_60_to_7f_are_naks) {  // [MRC-AETH-1]
  EXPECT_TRUE(is_ack_syndrome(0x00) && is_ack_syndrome(0x1F) && !is_ack_syndrome(0x20));
  EXPECT_TRUE(is_nak_syndrome(0x60) && is_nak_syndrome(0x7F) && !is_nak_syndrome(0x80) && !is_nak_syndrome(0x5F));
}

}  // namespace
}  // namespace mrc::wire
