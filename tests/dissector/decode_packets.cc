// The library's decoder for the dissector's tests: reads lines "SRC DST SRC_PORT DST_PORT FLOW_LABEL TRIMMED HEX" and
// prints one JSON object per line: error (decode_error_name), icrc (good, bad or none) and every decoded field under
// the name that the dissector gives it.
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "wire/icrc.h"
#include "wire/packet.h"

namespace mrc::wire {
namespace {

using nlohmann::json;

void put(json* f, const Bth& h) {
  (*f)["mrc.bth.opcode"] = static_cast<unsigned>(h.opcode);
  (*f)["mrc.bth.pad"] = h.pad;
  (*f)["mrc.bth.tver"] = h.tver;
  (*f)["mrc.bth.pkey"] = h.pkey;
  (*f)["mrc.bth.dqp"] = h.dqp;
  (*f)["mrc.bth.ack_req"] = h.ack_req ? 1 : 0;
  (*f)["mrc.bth.rtx"] = h.rtx ? 1 : 0;
  (*f)["mrc.bth.ts"] = h.ts ? 1 : 0;
  (*f)["mrc.bth.psn"] = h.psn.value();
}

void put(json* f, const std::string& header, const Tseth& h) {
  (*f)["mrc." + header + ".tx_timestamp"] = h.tx_timestamp;
  (*f)["mrc." + header + ".tsr"] = h.tsr ? 1 : 0;
  (*f)["mrc." + header + ".ftype"] = h.ftype;
}

void put(json* f, const Seth& h) {
  (*f)["mrc.seth.m"] = static_cast<unsigned>(h.m);
  (*f)["mrc.seth.pr"] = h.pr ? 1 : 0;
  if (h.pr) {
    (*f)["mrc.seth.probe_id"] = h.probe_id;
  } else {
    (*f)["mrc.seth.ack_psn_offset"] = h.ack_psn_offset;
    (*f)["mrc.seth.ack_psn"] = h.ack_psn().value();
  }
  (*f)["mrc.seth.entropy"] = h.entropy;
  (*f)["mrc.seth.spdcid"] = h.spdcid;
  (*f)["mrc.seth.dpdcid"] = h.dpdcid;
  (*f)["mrc.seth.cack_psn"] = h.cack_psn.value();
  (*f)["mrc.seth.cc_type"] = h.cc_type;
  (*f)["mrc.seth.cc_fl"] = h.cc_fl;
  (*f)["mrc.seth.mpr"] = h.mpr;
  (*f)["mrc.seth.sack_offset"] = h.sack_offset;
  (*f)["mrc.seth.sack_bitmap"] = h.sack_bitmap;
}

void put(json* f, const CcState& h) {
  (*f)["mrc.cc_state.tx_timestamp"] = h.tx_timestamp;
  (*f)["mrc.cc_state.ooo_count"] = h.ooo_count;
  (*f)["mrc.cc_state.restore_cwnd"] = h.restore_cwnd ? 1 : 0;
  (*f)["mrc.cc_state.rcv_cwnd_pen"] = h.rcv_cwnd_pen;
  (*f)["mrc.cc_state.rcvd_bytes"] = h.rcvd_bytes;
}

void put(json* f, const Neth& h) {
  (*f)["mrc.neth.reason"] = static_cast<unsigned>(h.reason);
  (*f)["mrc.neth.vendor_info"] = h.vendor_info;
  (*f)["mrc.neth.entropy"] = h.entropy;
  (*f)["mrc.neth.spdcid"] = h.spdcid;
  (*f)["mrc.neth.dpdcid"] = h.dpdcid;
  (*f)["mrc.neth.nack_psn"] = h.nack_psn.value();
  (*f)["mrc.neth.cc_type"] = h.cc_type;
  (*f)["mrc.neth.cc_fl"] = h.cc_fl;
  (*f)["mrc.neth.tx_timestamp"] = h.tx_timestamp;
}

void put(json* f, const Plth& h) {
  (*f)["mrc.plth.version"] = h.version;
  (*f)["mrc.plth.plane"] = h.plane;
  (*f)["mrc.plth.planes"] = h.planes;
  (*f)["mrc.plth.slot"] = h.slot;
  (*f)["mrc.plth.nonce"] = h.nonce;
  (*f)["mrc.plth.addr"] = h.addr.to_string();
  (*f)["mrc.plth.port"] = h.port;
  (*f)["mrc.plth.port_base"] = h.port_base;
  (*f)["mrc.plth.ready"] = h.ready ? 1 : 0;
  (*f)["mrc.plth.ports"] = h.ports ? 1 : 0;
}

void put(json* f, const Spth& h) {
  (*f)["mrc.spth.total"] = h.total;
  (*f)["mrc.spth.first"] = h.first;
  (*f)["mrc.spth.set"] = h.set;
  std::string ports;
  for (const uint16_t port : h.ports)
    for (const int byte : {port >> 8, port & 0xFF}) {
      char text[4];
      std::snprintf(text, sizeof text, "%s%02x", ports.empty() ? "" : ":", byte);
      ports += text;
    }
  (*f)["mrc.spth.ports"] = ports;
}

void put_control(json* f, const Packet& p) {
  switch (p.bth.opcode) {
    case Opcode::kAck:
      (*f)["mrc.aeth.syndrome"] = p.aeth.syndrome;
      (*f)["mrc.aeth.msn"] = p.aeth.msn;
      break;
    case Opcode::kSack:
      put(f, p.sack.seth);
      put(f, p.sack.cc);
      break;
    case Opcode::kNack:
      put(f, p.neth);
      break;
    case Opcode::kProbe:
      (*f)["mrc.peth.vendor_info"] = p.peth.vendor_info;
      (*f)["mrc.peth.probe_id"] = p.peth.probe_id;
      (*f)["mrc.peth.spdcid"] = p.peth.spdcid;
      (*f)["mrc.peth.dpdcid"] = p.peth.dpdcid;
      put(f, "peth", p.peth.timestamp);
      break;
    case Opcode::kEndpointRequest:
      (*f)["mrc.erth.op"] = static_cast<unsigned>(p.erth.op);
      (*f)["mrc.erth.vendor_info"] = p.erth.vendor_info;
      (*f)["mrc.erth.port_status_mask"] = p.erth.port_status_mask;
      put(f, "erth", p.erth.timestamp);
      break;
    case Opcode::kEndpointResponse:
      (*f)["mrc.eeth.op"] = static_cast<unsigned>(p.eeth.op);
      (*f)["mrc.eeth.tx_timestamp"] = p.eeth.tx_timestamp;
      break;
    default:  // decode() lets no other opcode pass
      put(f, p.plth);
      if (p.plth.ports) put(f, p.spth());
      break;
  }
}

json fields_of(const Packet& p) {
  json f;
  put(&f, p.bth);
  if (is_request(p.bth.opcode)) {
    f["mrc.meth.rqmsn"] = p.meth.rqmsn;
    f["mrc.meth.msn"] = p.meth.msn;
    if (p.bth.ts) put(&f, "tseth", p.tseth);
    if (!p.trimmed) {
      f["mrc.reth.va"] = p.req.reth.va;
      f["mrc.reth.rkey"] = p.req.reth.rkey;
      f["mrc.reth.dmalen"] = p.req.reth.dmalen;
      if (with_imm(p.bth.opcode)) f["mrc.immdt.data"] = p.req.imm.data;
      f["mrc.payload_len"] = p.payload_len;
    }
  } else if (!p.trimmed) {
    put_control(&f, p);
  }
  return f;
}

json describe(const std::string& line) {
  std::istringstream in(line);
  std::string src, dst, hex;
  Flow flow;
  bool trimmed = false;
  in >> src >> dst >> flow.src_port >> flow.dst_port >> flow.flow_label >> trimmed >> hex;
  if (!IpAddress::parse(src, &flow.src) || !IpAddress::parse(dst, &flow.dst)) return {{"usage", line}};
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char* at = hex.data() + 2 * i;
    if (std::from_chars(at, at + 2, bytes[i], 16).ptr != at + 2) return {{"usage", line}};
  }
  const auto len = static_cast<uint32_t>(bytes.size());
  Packet packet;
  const DecodeError e = trimmed ? decode_trimmed(bytes.data(), len, &packet) : decode(bytes.data(), len, &packet);
  json out = {{"error", decode_error_name(e)}, {"icrc", "none"}, {"ev", ev_of(flow)}};
  if (!trimmed && len >= Bth::kSize + kIcrcBytes) out["icrc"] = icrc_check(flow, bytes.data(), len) ? "good" : "bad";
  if (e == DecodeError::kOk) out["fields"] = fields_of(packet);
  return out;
}

}  // namespace
}  // namespace mrc::wire

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << mrc::wire::describe(line).dump() << "\n";
}
