// Every header codec against the golden bytes, in both directions [MRC-BTH-*, MRC-METH-*, ... of spec/wire.md].
#include <gtest/gtest.h>

#include "vectors.h"
#include "wire/packet.h"

namespace mrc::wire {
namespace {

using nlohmann::json;

uint64_t wide(const json& v) {
  return std::stoull(v.get<std::string>(), nullptr, 0);
}
std::string wide_text(uint64_t v) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

void from_json(const json& f, Bth* h) {
  h->opcode = static_cast<Opcode>(f.at("opcode").get<int>());
  h->pad = f.at("pad");
  h->tver = f.at("tver");
  h->pkey = f.at("pkey");
  h->dqp = Qpn(f.at("dqp").get<uint32_t>());
  h->ack_req = f.at("ack_req") == 1;
  h->rtx = f.at("rtx") == 1;
  h->ts = f.at("ts") == 1;
  h->psn = Psn(f.at("psn").get<uint32_t>());
}
json to_json(const Bth& h) {
  return {{"opcode", static_cast<int>(h.opcode)},
          {"pad", h.pad},
          {"tver", h.tver},
          {"pkey", h.pkey},
          {"dqp", h.dqp.value()},
          {"ack_req", int{h.ack_req}},
          {"rtx", int{h.rtx}},
          {"ts", int{h.ts}},
          {"psn", h.psn.value()}};
}
void from_json(const json& f, Meth* h) {
  h->rqmsn = f.at("rqmsn");
  h->msn = f.at("msn");
}
json to_json(const Meth& h) {
  return {{"rqmsn", h.rqmsn}, {"msn", h.msn}};
}
void from_json(const json& f, Tseth* h) {
  h->tx_timestamp = f.at("tx_timestamp");
  h->tsr = f.at("tsr") == 1;
  h->ftype = f.at("ftype");
}
json to_json(const Tseth& h) {
  return {{"tx_timestamp", h.tx_timestamp}, {"tsr", int{h.tsr}}, {"ftype", h.ftype}};
}
void from_json(const json& f, Reth* h) {
  h->va = wide(f.at("va"));
  h->rkey = Key(f.at("rkey").get<uint32_t>());
  h->dmalen = f.at("dmalen");
}
json to_json(const Reth& h) {
  return {{"va", wide_text(h.va)}, {"rkey", h.rkey.value()}, {"dmalen", h.dmalen}};
}
void from_json(const json& f, ImmDt* h) {
  h->data = f.at("data");
}
json to_json(const ImmDt& h) {
  return {{"data", h.data}};
}
void from_json(const json& f, Aeth* h) {
  h->syndrome = f.at("syndrome");
  h->msn = f.at("msn");
}
json to_json(const Aeth& h) {
  return {{"syndrome", h.syndrome}, {"msn", h.msn}};
}
void from_json(const json& f, Seth* h) {
  h->m = static_cast<PathVerdict>(f.at("m").get<int>());
  h->pr = f.at("pr") == 1;
  h->ack_psn_offset = f.at("ack_psn_offset");
  h->probe_id = f.at("probe_id");
  h->entropy = f.at("entropy");
  h->spdcid = f.at("spdcid");
  h->dpdcid = f.at("dpdcid");
  h->cack_psn = Psn(f.at("cack_psn").get<uint32_t>());
  h->cc_type = f.at("cc_type");
  h->cc_fl = f.at("cc_fl");
  h->mpr = f.at("mpr");
  h->sack_offset = f.at("sack_offset");
  h->sack_bitmap = wide(f.at("sack_bitmap"));
}
json to_json(const Seth& h) {
  return {{"m", static_cast<int>(h.m)},
          {"pr", int{h.pr}},
          {"ack_psn_offset", h.ack_psn_offset},
          {"probe_id", h.probe_id},
          {"entropy", h.entropy},
          {"spdcid", h.spdcid},
          {"dpdcid", h.dpdcid},
          {"cack_psn", h.cack_psn.value()},
          {"cc_type", h.cc_type},
          {"cc_fl", h.cc_fl},
          {"mpr", h.mpr},
          {"sack_offset", h.sack_offset},
          {"sack_bitmap", wide_text(h.sack_bitmap)}};
}
void from_json(const json& f, CcState* h) {
  h->tx_timestamp = f.at("tx_timestamp");
  h->ooo_count = f.at("ooo_count");
  h->restore_cwnd = f.at("restore_cwnd") == 1;
  h->rcv_cwnd_pen = f.at("rcv_cwnd_pen");
  h->rcvd_bytes = f.at("rcvd_bytes");
}
json to_json(const CcState& h) {
  return {{"tx_timestamp", h.tx_timestamp},
          {"ooo_count", h.ooo_count},
          {"restore_cwnd", int{h.restore_cwnd}},
          {"rcv_cwnd_pen", h.rcv_cwnd_pen},
          {"rcvd_bytes", h.rcvd_bytes}};
}
void from_json(const json& f, Neth* h) {
  h->reason = static_cast<NackReason>(f.at("reason").get<int>());
  h->vendor_info = f.at("vendor_info");
  h->entropy = f.at("entropy");
  h->spdcid = f.at("spdcid");
  h->dpdcid = f.at("dpdcid");
  h->nack_psn = Psn(f.at("nack_psn").get<uint32_t>());
  h->cc_type = f.at("cc_type");
  h->cc_fl = f.at("cc_fl");
  h->tx_timestamp = f.at("tx_timestamp");
}
json to_json(const Neth& h) {
  return {{"reason", static_cast<int>(h.reason)},
          {"vendor_info", h.vendor_info},
          {"entropy", h.entropy},
          {"spdcid", h.spdcid},
          {"dpdcid", h.dpdcid},
          {"nack_psn", h.nack_psn.value()},
          {"cc_type", h.cc_type},
          {"cc_fl", h.cc_fl},
          {"tx_timestamp", h.tx_timestamp}};
}
void from_json(const json& f, Peth* h) {
  h->vendor_info = f.at("vendor_info");
  h->probe_id = f.at("probe_id");
  h->spdcid = f.at("spdcid");
  h->dpdcid = f.at("dpdcid");
  from_json(f, &h->timestamp);
}
json to_json(const Peth& h) {
  json f = to_json(h.timestamp);
  f.update({{"vendor_info", h.vendor_info}, {"probe_id", h.probe_id}, {"spdcid", h.spdcid}, {"dpdcid", h.dpdcid}});
  return f;
}
void from_json(const json& f, Erth* h) {
  h->op = static_cast<EndpointOp>(f.at("op").get<int>());
  h->vendor_info = f.at("vendor_info");
  h->port_status_mask = f.at("port_status_mask");
  from_json(f, &h->timestamp);
}
json to_json(const Erth& h) {
  json f = to_json(h.timestamp);
  f.update({{"op", static_cast<int>(h.op)}, {"vendor_info", h.vendor_info}, {"port_status_mask", h.port_status_mask}});
  return f;
}
void from_json(const json& f, Eeth* h) {
  h->op = static_cast<EndpointOp>(f.at("op").get<int>());
  h->tx_timestamp = f.at("tx_timestamp");
}
json to_json(const Eeth& h) {
  return {{"op", static_cast<int>(h.op)}, {"tx_timestamp", h.tx_timestamp}};
}

void from_json(const json& f, Plth* h) {
  h->version = f.at("version");
  h->plane = f.at("plane");
  h->planes = f.at("planes");
  h->slot = f.at("slot");
  h->nonce = std::stoull(f.at("nonce").get<std::string>());
  h->addr = IpAddress::parse(f.at("addr")).value();
  h->port = f.at("port");
  h->port_base = f.at("port_base");
  h->ready = f.at("ready") == 1;
  h->ports = f.at("ports") == 1;
}
json to_json(const Plth& h) {
  return {{"version", h.version},
          {"plane", h.plane},
          {"planes", h.planes},
          {"slot", h.slot},
          {"nonce", std::to_string(h.nonce)},
          {"addr", h.addr.to_string()},
          {"port", h.port},
          {"port_base", h.port_base},
          {"ready", h.ready ? 1 : 0},
          {"ports", h.ports ? 1 : 0}};
}

void from_json(const json& f, Spth* h) {
  h->total = f.at("total");
  h->first = f.at("first");
  h->set = f.at("set");
  h->ports = f.at("ports");
}
json to_json(const Spth& h) {
  return {{"total", h.total}, {"first", h.first}, {"set", h.set}, {"ports", h.ports}};
}

// The first bytes of a buffer, as many as the header has.
template <typename Header, typename Buffer>
auto room(Buffer& buffer) {
  return std::span(buffer).template first<Header::kSize>();
}

// Runs every vector of one header; returns how many there were.
template <typename Header>
int check_header(const std::string& name) {
  int count = 0;
  for (const json& v : golden("headers")) {
    if (v.at("header") != name) continue;
    SCOPED_TRACE(v.at("name").get<std::string>());
    const std::vector<uint8_t> bytes = from_hex(v.at("hex"));
    EXPECT_EQ(bytes.size(), Header::kSize);
    if (bytes.size() != Header::kSize) continue;
    EXPECT_EQ(to_json(Header::decode(room<Header>(bytes))), v.at("fields"));
    Header h;
    from_json(v.at("fields"), &h);
    std::vector<uint8_t> encoded(Header::kSize + 1, 0x5A);  // stale bytes must all be overwritten, and no more
    h.encode(room<Header>(encoded));
    EXPECT_EQ(encoded.back(), 0x5A);
    encoded.pop_back();
    EXPECT_EQ(encoded, bytes);
    ++count;
  }
  return count;
}

TEST(Headers, GoldenVectorsBothDirections) {
  EXPECT_EQ(check_header<Bth>("BTH"), 4);
  EXPECT_EQ(check_header<Meth>("METH"), 2);
  EXPECT_EQ(check_header<Tseth>("TSETH"), 2);
  EXPECT_EQ(check_header<Reth>("RETH"), 2);
  EXPECT_EQ(check_header<ImmDt>("ImmDt"), 1);
  EXPECT_EQ(check_header<Aeth>("AETH"), 2);
  EXPECT_EQ(check_header<Seth>("SETH"), 3);
  EXPECT_EQ(check_header<CcState>("CC_STATE"), 2);
  EXPECT_EQ(check_header<Neth>("NETH"), 2);
  EXPECT_EQ(check_header<Peth>("PETH"), 1);
  EXPECT_EQ(check_header<Erth>("ERTH"), 2);
  EXPECT_EQ(check_header<Eeth>("EETH"), 2);
  EXPECT_EQ(check_header<Plth>("PLTH"), 3);
  EXPECT_EQ(check_header<Spth>("SPTH"), 2);
}

// Reserved bits set by a peer change nothing: what is decoded encodes to the same bytes with those bits clear.
template <typename Header>
void check_reserved(const std::string& ones_expected) {
  const std::vector<uint8_t> ones(Header::kSize, 0xFF);
  std::vector<uint8_t> encoded(Header::kSize);
  Header::decode(room<Header>(ones)).encode(room<Header>(encoded));
  EXPECT_EQ(encoded, from_hex(ones_expected));
}

TEST(Headers, ReservedBitsAreIgnoredAndSentAsZero) {
  check_reserved<Bth>("ff3fffff00ffffffb0ffffff");  // SE, M, variant, R and invariant reserve [MRC-BTH-2] [MRC-BTH-4]
  check_reserved<Tseth>("ffff800f");
  check_reserved<Seth>("0062ffffffffffffffffffff00ffffffffffffffffffffffffffffff");
  check_reserved<CcState>("ffff7fffffffffff");
  check_reserved<Neth>("0000ffffffffffffffffffff00ffffffff00ffff");
  check_reserved<Peth>("000000ffffff0000ffffffffffff800f");
  check_reserved<Erth>("000300ffffffffff00000000ffff800f");
  check_reserved<Plth>(std::string(64, 'f') + "c0000000");
  check_reserved<Eeth>("000c" + std::string(52, '0') + "ffff" + std::string(12, '0'));
}

TEST(Headers, ValuesWiderThanTheirFieldAreCutNotSpread) {
  uint8_t p[Seth::kSize];
  Bth bth;
  bth.pad = 7;
  bth.tver = 0x1F;
  bth.dqp = Qpn(0xAB123456);
  bth.encode(room<Bth>(p));
  EXPECT_EQ(p[1], 0x3F);
  EXPECT_EQ(p[4], 0);
  p[1] |= 0xC0;  // SE and M of InfiniBand: never sent, ignored on receipt [MRC-CHOICE-Q31]
  EXPECT_EQ(Bth::decode(room<Bth>(p)).pad, 3);
  EXPECT_EQ(Bth::decode(room<Bth>(p)).tver, 0xF);
  CcState cc;
  cc.ooo_count = 0xFFFF;
  cc.rcv_cwnd_pen = 0xFF;
  cc.rcvd_bytes = 0xAB000001;
  cc.encode(room<CcState>(p));
  EXPECT_EQ(std::vector<uint8_t>(p, p + 8), from_hex("00007fff7f000001"));
}

TEST(Headers, SackPsnsAreRelativeToCumulative) {  // [MRC-SACK-2] [MRC-SACK-3]
  Seth h;
  h.cack_psn = Psn(0xFFFFFE);
  h.ack_psn_offset = 5;
  EXPECT_EQ(h.ack_psn().value(), 3u);
}

TEST(Headers, TimestampTicksAre128ns) {  // [MRC-TSETH-2]
  EXPECT_EQ(timestamp_of(Instant::from_ns(127)), 0);
  EXPECT_EQ(timestamp_of(Instant::from_ns(128)), 1);
  EXPECT_EQ(timestamp_of(Instant::from_ns(128 * 65535 + 127)), 65535);
  EXPECT_EQ(timestamp_of(Instant::from_ns(128 * 65536)), 0);
}

TEST(Headers, SyndromeKinds) {  // [MRC-AETH-1]
  EXPECT_TRUE(is_ack_syndrome(0x00) && is_ack_syndrome(0x1F) && !is_ack_syndrome(0x20));
  EXPECT_TRUE(is_nak_syndrome(0x60) && is_nak_syndrome(0x7F) && !is_nak_syndrome(0x80) && !is_nak_syndrome(0x5F));
}

}  // namespace
}  // namespace mrc::wire
