// decode, decode_trimmed and the encoders: whole packets, each check on both sides, cuts at every byte, random bytes.
#include "wire/packet.h"

#include <gtest/gtest.h>

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

TEST(Packet, GoldenPacketsReencodeToTheSameBytes) {
  const auto packets = golden_packets();
  ASSERT_EQ(packets.size(), 18u);
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
  EXPECT_EQ(seen.size(), 14u);
}

TEST(Packet, FieldsLandInTheirHeaders) {
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
DecodeError expected_cut(Opcode op, bool ts, bool ports, uint32_t len) {
  struct Step {
    uint32_t size;
    DecodeError error;
  };
  std::vector<Step> steps = {{12, DecodeError::kShortBth}};
  if (is_request(op)) {
    steps.push_back({4, DecodeError::kShortMeth});
    if (ts) steps.push_back({4, DecodeError::kShortTseth});
    steps.push_back({16, DecodeError::kShortReth});
    if (with_imm(op)) steps.push_back({4, DecodeError::kShortImmDt});
  }
  if (op == Opcode::kAck) steps.push_back({4, DecodeError::kShortAeth});
  if (op == Opcode::kSack) {
    steps.push_back({28, DecodeError::kShortSeth});
    steps.push_back({8, DecodeError::kShortCcState});
  }
  if (op == Opcode::kNack) steps.push_back({20, DecodeError::kShortNeth});
  if (op == Opcode::kProbe) steps.push_back({16, DecodeError::kShortPeth});
  if (op == Opcode::kEndpointRequest) steps.push_back({16, DecodeError::kShortErth});
  if (op == Opcode::kEndpointResponse) steps.push_back({36, DecodeError::kShortEeth});
  if (op == Opcode::kPlaneRequest || op == Opcode::kPlaneResponse) steps.push_back({36, DecodeError::kShortPlth});
  if (ports) steps.push_back({76, DecodeError::kShortSpth});
  steps.push_back({4, DecodeError::kShortIcrc});
  uint32_t end = 0;
  for (const Step& s : steps) {
    end += s.size;
    if (len < end) return s.error;
  }
  return DecodeError::kOk;
}

TEST(Packet, CutAtEveryByteNamesTheMissingHeader) {
  for (const GoldenPacket& g : golden_packets()) {
    for (uint32_t len = 0; len < g.bytes.size(); ++len) {
      SCOPED_TRACE(g.name + " cut to " + std::to_string(len));
      const Opcode op = static_cast<Opcode>(g.bytes[0]);
      const bool ts = (g.bytes[8] & 0x10) != 0;
      const DecodeError e = decode_exact(Bytes(g.bytes.begin(), g.bytes.begin() + len));
      const bool plane = op == Opcode::kPlaneRequest || op == Opcode::kPlaneResponse;
      const bool ports = plane && (g.bytes[12 + 32] & 0x40) != 0;
      const DecodeError expected = expected_cut(op, ts, ports, len);
      if (expected != DecodeError::kOk) {
        EXPECT_EQ(e, expected) << decode_error_name(e);
        continue;
      }
      // Cut inside the payload. A shorter part of a message is a valid packet of its own where the length is a multiple
      // of four and pad still fits; everything else is refused.
      const uint32_t body = len - header_bytes(op, ts) - kIcrcBytes;
      const uint32_t pad = g.bytes[1] >> 4 & 3u;
      if (body % 4 != 0 || pad > body) {
        EXPECT_EQ(e, DecodeError::kBadPad);
      } else if (is_only(op) || body == pad) {
        EXPECT_EQ(e, DecodeError::kBadPayload);
      } else {
        EXPECT_EQ(e, DecodeError::kOk);
      }
    }
  }
}

TEST(Packet, TransportVersion) {  // [MRC-BTH-2]
  Bytes b = request(Opcode::kWriteOnly, 4, 4);
  EXPECT_EQ(decode_exact(b), DecodeError::kOk);
  b[1] |= 1;
  EXPECT_EQ(decode_exact(b), DecodeError::kBadTver);
  EXPECT_EQ(trimmed_exact(b), DecodeError::kBadTver);
}

TEST(Packet, EveryOtherOpcodeIsUnknown) {  // [MRC-BTH-1]
  int known = 0;
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
  EXPECT_EQ(known, 14);
}

TEST(Packet, PayloadAgainstMessageLength) {  // [MRC-WIRE-4]
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

TEST(Packet, PadFillsUpToFourAndOnlyAtTheEnd) {  // [MRC-BTH-3]
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

TEST(Packet, AnEndpointRequestMayBeAsLongAsItsResponse) {  // [MRC-EVP-6]
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

TEST(Packet, AnEvProbeMayBeAsLongAsADataPacket) {  // [MRC-EVP-7]
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

TEST(Packet, ControlPacketsHaveNoBodyAndNoPad) {  // [MRC-WIRE-5]
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

TEST(Packet, EndpointOperationsGoToQpnTwo) {  // [MRC-BTH-5]
  for (const GoldenPacket& g : golden_packets()) {
    const Opcode op = static_cast<Opcode>(g.bytes[0]);
    if (op != Opcode::kEndpointRequest && op != Opcode::kEndpointResponse && op != Opcode::kPlaneRequest &&
        op != Opcode::kPlaneResponse)
      continue;
    Bytes b = g.bytes;
    EXPECT_EQ(decode_exact(b), DecodeError::kOk);
    b[7] = 3;
    EXPECT_EQ(decode_exact(b), DecodeError::kBadQpn);
  }
}

TEST(Packet, TimestampBitCountsOnRequestsOnly) {  // [MRC-BTH-6]
  Bth bth;
  bth.ts = true;
  Bytes b(Bth::kSize + Aeth::kSize + kIcrcBytes);
  encode_ack(b, bth, Aeth{});
  EXPECT_EQ(decode_exact(b), DecodeError::kOk);
}

TEST(Packet, EncodersSetOpcodeAndTimestampBit) {
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

TEST(Packet, TrimmedNeedsMessageNumbersAndTimestampOnly) {  // [MRC-CHOICE-Q24]
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

TEST(Packet, TrimmedProbeKeepsItsBthAndOtherControlIsRefused) {  // [MRC-CHOICE-Q24]
  for (const GoldenPacket& g : golden_packets()) {
    const Opcode op = static_cast<Opcode>(g.bytes[0]);
    if (is_request(op)) continue;
    SCOPED_TRACE(g.name);
    EXPECT_EQ(trimmed_exact(Bytes(g.bytes.begin(), g.bytes.begin() + 12)),
              op == Opcode::kProbe ? DecodeError::kOk : DecodeError::kNotRequest);
  }
}

TEST(Packet, TrimmedFlagFollowsTheCall) {
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
TEST(Packet, RandomBytesDecodeSafelyAndConsistently) {
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
