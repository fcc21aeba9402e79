// decode, decode_trimmed and the encoders: whole packets, each check on both sides, cuts at every byte, random bytes.
#include "wire/packet.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>

#include "base/rng.h"
#include "vectors.h"

namespace mrc::wire {
namespace {

using Bytes = std::vector<uint8_t>;

// Decodes from an allocation of exactly the packet's size, so that the sanitizers see any read beyond it.
DecodeError decode_exact(const Bytes& bytes, Packet* out) {
  auto copy = std::make_unique<uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  const DecodeError e = decode({copy.get(), static_cast<uint32_t>(bytes.size())}, out);
  out->payload = nullptr;
  return e;
}
DecodeError decode_exact(const Bytes& bytes) {
  Packet p;
  return decode_exact(bytes, &p);
}
DecodeError trimmed_exact(const Bytes& bytes) {
  auto copy = std::make_unique<uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  Packet p;
  return decode_trimmed({copy.get(), static_cast<uint32_t>(bytes.size())}, &p);
}

Bytes request(Opcode op, uint32_t payload, uint32_t dmalen, bool ts = true) {
  Bth bth;
  bth.dqp = Qpn(0x123);
  bth.pad = pad_for(payload);
  Tseth tseth;
  Reth reth;
  reth.dmalen = dmalen;
  const uint32_t imm = 7;
  Bytes out(kMaxHeaderBytes);
  out.resize(encode_request_headers(out, op, bth, Meth{}, ts ? &tseth : nullptr, reth, &imm));
  out.resize(out.size() + payload + bth.pad + kIcrcBytes);
  return out;
}

constexpr Opcode kRequests[] = {Opcode::kWriteFirst,   Opcode::kWriteMiddle, Opcode::kWriteLast,
                                Opcode::kWriteLastImm, Opcode::kWriteOnly,   Opcode::kWriteOnlyImm};

TEST(Packet, golden_packets_reencode_to_the_same_bytes) {
  const auto packets = golden_packets();
  std::map<Opcode, int> seen;
  for (const GoldenPacket& g : packets) {
    SCOPED_TRACE(g.name);
    Packet p;
    const uint32_t len = static_cast<uint32_t>(g.bytes.size());
    ASSERT_EQ(decode({g.bytes.data(), len}, &p), DecodeError::kOk);
    EXPECT_EQ(packet_bytes(p.bth.opcode, p.bth.ts, p.payload_len), len);
    Bytes out(len, 0x5A);
    ASSERT_EQ(encode_packet(out, p), len - kIcrcBytes);
    EXPECT_TRUE(std::equal(out.begin(), out.end() - kIcrcBytes, g.bytes.begin()));
    ++seen[p.bth.opcode];
  }
  for (const OpcodeLayout& o : kLayouts) EXPECT_GT(seen[o.opcode], 0) << o.title << " has no golden packet";
}

TEST(Packet, fields_land_in_their_headers) {
  Packet p;
  const auto packets = golden_packets();
  ASSERT_EQ(packets[2].name, "WRITE Last, pad 3");
  ASSERT_EQ(decode(packets[2].bytes, &p), DecodeError::kOk);
  EXPECT_EQ(p.bth.opcode, Opcode::kWriteLast);
  EXPECT_EQ(p.bth.psn.value(), 0xFFFFFEu);
  EXPECT_EQ(p.meth.rqmsn, 7);
  EXPECT_EQ(p.meth.msn, 9);
  EXPECT_EQ(p.tseth.tx_timestamp, 0xBEEF);
  EXPECT_EQ(p.req.reth.rkey, Key(0xAABBCCDD));
  EXPECT_EQ(p.payload_len, 5u);
  EXPECT_EQ(p.payload[4], 0xEE);
  EXPECT_EQ(p.payload - packets[2].bytes.data(), 36);

  ASSERT_EQ(packets[5].name, "WRITE Only with immediate, empty");
  ASSERT_EQ(decode(packets[5].bytes, &p), DecodeError::kOk);
  EXPECT_EQ(p.req.imm.data, 0x01020304u);
  EXPECT_EQ(p.payload_len, 0u);

  ASSERT_EQ(packets[8].name, "SACK of a probe");
  ASSERT_EQ(decode(packets[8].bytes, &p), DecodeError::kOk);
  EXPECT_EQ(p.sack.seth.probe_id, 0x7788);
  EXPECT_EQ(p.sack.cc.rcv_cwnd_pen, 64);
}

// The error that a packet of these headers must give when only `len` bytes are left [MRC-WIRE-2].
std::string expected_cut(Opcode op, bool ts, bool ports, uint32_t len) {
  std::vector<HeaderInfo> headers = {Bth::kInfo};
  for (const OpcodeLayout& o : kLayouts)
    if (o.opcode == op) headers.insert(headers.end(), o.headers.begin(), o.headers.end());
  if (ports) headers.push_back(Spth::kInfo);
  uint32_t end = 0;
  for (const HeaderInfo& h : headers) {
    if (h.only_with_ts && !ts) continue;
    end += h.size;
    if (len < end) return std::string("short ") + h.name;
  }
  return decode_error_name(len < end + kIcrcBytes ? DecodeError::kShortIcrc : DecodeError::kOk);
}

TEST(Packet, cut_at_every_byte_names_the_missing_header) {
  for (const GoldenPacket& g : golden_packets()) {
    for (uint32_t len = 0; len < g.bytes.size(); ++len) {
      SCOPED_TRACE(g.name + " cut to " + std::to_string(len));
      const Opcode op = static_cast<Opcode>(g.bytes[0]);
      const bool ts = (g.bytes[8] & 0x10) != 0;
      const DecodeError e = decode_exact(Bytes(g.bytes.begin(), g.bytes.begin() + len));
      const bool ports = is_plane_operation(op) && (g.bytes[12 + 32] & 0x40) != 0;
      const std::string expected = expected_cut(op, ts, ports, len);
      if (expected != decode_error_name(DecodeError::kOk)) {
        EXPECT_EQ(decode_error_name(e), expected);
        continue;
      }
      // Cut inside the payload. A shorter part of a message is a valid packet of its own where the length is a multiple
      // of four and pad still fits; everything else is refused.
      const uint32_t body = len - header_bytes(op, ts) - kIcrcBytes;
      const uint32_t pad = g.bytes[1] >> 4 & 3u;
      if (body % 4 != 0 || pad > body) {
        EXPECT_EQ(e, DecodeError::kBadPad);
      } else if (is_datagram(op)) {
        EXPECT_EQ(e, DecodeError::kOk);
      } else if (is_only(op) || body == pad) {
        EXPECT_EQ(e, DecodeError::kBadPayload);
      } else {
        EXPECT_EQ(e, DecodeError::kOk);
      }
    }
  }
}

TEST(Packet, transport_version) {  // [MRC-BTH-2]
  Bytes b = request(Opcode::kWriteOnly, 4, 4);
  EXPECT_EQ(decode_exact(b), DecodeError::kOk);
  b[1] |= 1;
  EXPECT_EQ(decode_exact(b), DecodeError::kBadTver);
  EXPECT_EQ(trimmed_exact(b), DecodeError::kBadTver);
}

TEST(Packet, every_other_opcode_is_unknown) {  // [MRC-BTH-1]
  size_t known = 0;
  for (int op = 0; op < 256; ++op) {
    Bytes b(64);
    b[0] = static_cast<uint8_t>(op);
    if (is_known(static_cast<Opcode>(op))) {
      ++known;
      EXPECT_NE(decode_exact(b), DecodeError::kUnknownOpcode);
    } else {
      EXPECT_EQ(decode_exact(b), DecodeError::kUnknownOpcode);
      EXPECT_EQ(trimmed_exact(b), DecodeError::kUnknownOpcode);
    }
  }
  EXPECT_EQ(known, std::size(kOpcodeList));
}

TEST(Packet, payload_against_message_length) {  // [MRC-WIRE-4]
  for (Opcode op : kRequests) {
    SCOPED_TRACE(opcode_name(op));
    const bool only = is_only(op);
    const auto ok_if = [](bool ok) { return ok ? DecodeError::kOk : DecodeError::kBadPayload; };
    EXPECT_EQ(decode_exact(request(op, 0, 0)), ok_if(only));
    EXPECT_EQ(decode_exact(request(op, 0, 1)), ok_if(false));
    EXPECT_EQ(decode_exact(request(op, 4, 3)), ok_if(false));
    EXPECT_EQ(decode_exact(request(op, 4, 4)), ok_if(only));
    EXPECT_EQ(decode_exact(request(op, 4, 5)), ok_if(!only));
    EXPECT_EQ(decode_exact(request(op, 4096, 0xFFFFFFFF)), ok_if(!only));
  }
}

TEST(Packet, pad_fills_up_to_four_and_only_at_the_end) {  // [MRC-BTH-3]
  EXPECT_EQ(pad_for(0), 0);
  EXPECT_EQ(pad_for(1), 3);
  EXPECT_EQ(pad_for(2), 2);
  EXPECT_EQ(pad_for(3), 1);
  EXPECT_EQ(pad_for(4), 0);
  for (Opcode op : kRequests) {
    SCOPED_TRACE(opcode_name(op));
    for (uint32_t payload = 1; payload <= 8; ++payload) {
      const bool ok = ends_message(op) || payload % 4 == 0;
      EXPECT_EQ(decode_exact(request(op, payload, is_only(op) ? payload : 100)),
                ok ? DecodeError::kOk : DecodeError::kBadPad);
    }
  }
  Bytes more_pad_than_body = request(Opcode::kWriteOnly, 0, 0);
  more_pad_than_body[1] = 0x10;
  EXPECT_EQ(decode_exact(more_pad_than_body), DecodeError::kBadPad);
  Bytes unaligned = request(Opcode::kWriteLast, 4, 100);
  unaligned.push_back(0);
  EXPECT_EQ(decode_exact(unaligned), DecodeError::kBadPad);
}

TEST(Packet, datagrams_have_a_body_of_any_length_with_pad) {  // [MRC-UD-1]
  for (Opcode op : {Opcode::kDatagram, Opcode::kDatagramImm}) {
    SCOPED_TRACE(opcode_name(op));
    for (uint32_t payload = 0; payload <= 8; ++payload) {
      Bth bth;
      bth.pad = pad_for(payload);
      bth.solicited = payload % 2 != 0;
      Bytes b(kMaxHeaderBytes);
      b.resize(encode_datagram_headers(b, op, bth, Deth{0x11223344, Qpn(0x456)}, 0x01020304));
      b.resize(b.size() + payload + bth.pad + kIcrcBytes);
      Packet p;
      ASSERT_EQ(decode_exact(b, &p), DecodeError::kOk);
      EXPECT_EQ(p.payload_len, payload);
      EXPECT_EQ(p.bth.solicited, payload % 2 != 0);
      EXPECT_EQ(p.ud.deth.qkey, 0x11223344u);
      EXPECT_EQ(p.ud.deth.src_qpn, Qpn(0x456));
      EXPECT_EQ(p.ud.imm.data, op == Opcode::kDatagramImm ? 0x01020304u : p.ud.imm.data);
      EXPECT_EQ(trimmed_exact(b), DecodeError::kNotRequest);
      b.push_back(0);
      EXPECT_EQ(decode_exact(b), DecodeError::kBadPad);
    }
  }
}

TEST(Packet, an_endpoint_request_may_be_as_long_as_its_response) {  // [MRC-EVP-6]
  for (const GoldenPacket& g : golden_packets()) {
    const auto op = static_cast<Opcode>(g.bytes[0]);
    if (!is_control(op)) continue;
    SCOPED_TRACE(g.name);
    for (size_t more : {kEndpointPadding - 1, kEndpointPadding, kEndpointPadding + 1}) {
      Bytes b = g.bytes;
      b.resize(b.size() + more);
      const bool good = op == Opcode::kEndpointRequest && more == kEndpointPadding;
      EXPECT_EQ(decode_exact(b), good ? DecodeError::kOk : DecodeError::kTrailingBytes);
    }
  }
}

TEST(Packet, an_ev_probe_may_be_as_long_as_a_data_packet) {  // [MRC-EVP-7]
  for (const GoldenPacket& g : golden_packets()) {
    const auto op = static_cast<Opcode>(g.bytes[0]);
    if (!is_control(op)) continue;
    SCOPED_TRACE(g.name);
    const bool ev_probe = op == Opcode::kEndpointRequest && (g.bytes[Bth::kSize + 1] & 3) == 1;
    for (size_t more : {size_t{kMinProbePadding} - 1, size_t{kMinProbePadding}, size_t{8300}}) {
      Bytes b = g.bytes;
      b.resize(b.size() + more);
      const bool good = ev_probe && more >= kMinProbePadding;
      EXPECT_EQ(decode_exact(b), good ? DecodeError::kOk : DecodeError::kTrailingBytes);
    }
  }
}

TEST(Packet, control_packets_have_no_body_and_no_pad) {  // [MRC-WIRE-5]
  for (const GoldenPacket& g : golden_packets()) {
    if (!is_control(static_cast<Opcode>(g.bytes[0]))) continue;
    SCOPED_TRACE(g.name);
    Bytes b = g.bytes;
    b.push_back(0);
    EXPECT_EQ(decode_exact(b), DecodeError::kTrailingBytes);
    b.pop_back();
    b[1] |= 0x10;
    EXPECT_EQ(decode_exact(b), DecodeError::kBadPad);
  }
}

TEST(Packet, endpoint_operations_go_to_qpn_two) {  // [MRC-BTH-5]
  for (const GoldenPacket& g : golden_packets()) {
    const Opcode op = static_cast<Opcode>(g.bytes[0]);
    if (!is_endpoint_operation(op)) continue;
    Bytes b = g.bytes;
    EXPECT_EQ(decode_exact(b), DecodeError::kOk);
    b[7] = 3;
    EXPECT_EQ(decode_exact(b), DecodeError::kBadQpn);
  }
}

TEST(Packet, timestamp_bit_counts_on_requests_only) {  // [MRC-BTH-6]
  Bth bth;
  bth.ts = true;
  Bytes b(Bth::kSize + Aeth::kSize + kIcrcBytes);
  encode_ack(b, bth, Aeth{});
  EXPECT_EQ(decode_exact(b), DecodeError::kOk);
}

TEST(Packet, encoders_set_opcode_and_timestamp_bit) {
  Bth bth;
  bth.ts = true;
  Bytes b = request(Opcode::kWriteFirst, 4, 8, false);
  EXPECT_EQ(b.size(), 12u + 4 + 16 + 4 + 4);
  Packet p;
  ASSERT_EQ(decode_exact(b, &p), DecodeError::kOk);
  EXPECT_FALSE(p.bth.ts);
  uint8_t out[kMaxHeaderBytes];
  EXPECT_EQ(encode_ack(out, bth, Aeth{}), 16u);
  EXPECT_EQ(out[0], 0xD1);
  EXPECT_EQ(encode_sack(out, bth, Seth{}, CcState{}), 48u);
  EXPECT_EQ(out[0], 0xDC);
  EXPECT_EQ(encode_nack(out, bth, Neth{}), 32u);
  EXPECT_EQ(out[0], 0xDD);
  EXPECT_EQ(encode_probe(out, bth, Peth{}), 28u);
  EXPECT_EQ(out[0], 0xDE);
  EXPECT_EQ(encode_endpoint_request(out, bth, Erth{}), 28u);
  EXPECT_EQ(out[0], 0xD8);
  EXPECT_EQ(encode_endpoint_response(out, bth, Eeth{}), 48u);
  EXPECT_EQ(out[0], 0xD9);
}

TEST(Packet, trimmed_needs_message_numbers_and_timestamp_only) {  // [MRC-CHOICE-Q24]
  for (Opcode op : kRequests) {
    for (bool ts : {false, true}) {
      SCOPED_TRACE(opcode_name(op));
      const Bytes whole = request(op, 4, is_only(op) ? 4 : 8, ts);
      const uint32_t needed = ts ? 20 : 16;
      for (uint32_t len = 0; len <= whole.size(); ++len) {
        const DecodeError e = trimmed_exact(Bytes(whole.begin(), whole.begin() + len));
        const DecodeError cut = len < 12   ? DecodeError::kShortBth
                                : len < 16 ? DecodeError::kShortMeth
                                           : DecodeError::kShortTseth;
        EXPECT_EQ(e, len < needed ? cut : DecodeError::kOk) << len;
      }
    }
  }
}

TEST(Packet, trimmed_probe_keeps_its_bth_and_other_control_is_refused) {  // [MRC-CHOICE-Q24]
  for (const GoldenPacket& g : golden_packets()) {
    const Opcode op = static_cast<Opcode>(g.bytes[0]);
    if (is_request(op)) continue;
    SCOPED_TRACE(g.name);
    EXPECT_EQ(trimmed_exact(Bytes(g.bytes.begin(), g.bytes.begin() + 12)),
              op == Opcode::kProbe ? DecodeError::kOk : DecodeError::kNotRequest);
  }
}

TEST(Packet, trimmed_flag_follows_the_call) {
  const Bytes b = request(Opcode::kWriteOnly, 4, 4);
  Packet p;
  ASSERT_EQ(decode_trimmed({b.data(), 20}, &p), DecodeError::kOk);
  EXPECT_TRUE(p.trimmed);
  EXPECT_EQ(p.payload, nullptr);
  ASSERT_EQ(decode(b, &p), DecodeError::kOk);
  EXPECT_FALSE(p.trimmed);
}

// Random bytes, and random damage to good packets: never a read outside, and whatever decodes encodes and decodes to
// the same packet again.
TEST(Packet, random_bytes_decode_safely_and_consistently) {
  Rng rng(0x6D7263);
  const auto packets = golden_packets();
  int accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    Bytes b = packets[rng.below(static_cast<uint32_t>(packets.size()))].bytes;
    if (rng.chance(0.2)) b.resize(rng.below(96));
    const bool all = rng.chance(0.3);
    for (size_t k = all ? 1 : 0; k < b.size(); ++k) {
      if (all || rng.chance(0.02)) b[k] = static_cast<uint8_t>(rng.next());
    }
    (void)trimmed_exact(b);
    auto copy = std::make_unique<uint8_t[]>(b.size());
    std::copy(b.begin(), b.end(), copy.get());
    Packet p;
    if (decode({copy.get(), static_cast<uint32_t>(b.size())}, &p) != DecodeError::kOk) continue;
    ++accepted;
    const bool padded =
        p.bth.opcode == Opcode::kEndpointRequest && b.size() == packet_bytes(p.bth.opcode, false, 0) + kEndpointPadding;
    if (padded) b.resize(b.size() - kEndpointPadding);  // which an encoder leaves to its caller
    Bytes again(b.size());
    ASSERT_EQ(encode_packet(again, p) + kIcrcBytes, b.size());
    Packet q;
    ASSERT_EQ(decode(again, &q), DecodeError::kOk);
    Bytes twice(b.size());
    encode_packet(twice, q);
    ASSERT_EQ(again, twice);
    ASSERT_EQ(q.payload_len, p.payload_len);
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace mrc::wire
