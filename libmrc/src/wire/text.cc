// See text.h. Names of errors and reasons live here too, so that decoding carries no strings.
#include "wire/text.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace mrc::wire {
namespace {

__attribute__((format(printf, 2, 3))) void append(std::string* s, const char* format, ...) {
  char buffer[256];
  va_list args;
  va_start(args, format);
  const int n = std::vsnprintf(buffer, sizeof(buffer), format, args);
  va_end(args);
  if (n > 0) s->append(buffer, std::min(static_cast<size_t>(n), sizeof(buffer) - 1));
}

const char* verdict_name(PathVerdict m) {
  switch (m) {
    case PathVerdict::kNone:
      return "none";
    case PathVerdict::kSkipOnce:
      return "skip_once";
    case PathVerdict::kAlwaysSkip:
      return "always_skip";
    case PathVerdict::kReserved:
      break;
  }
  return "reserved";
}

const char* endpoint_op_name(EndpointOp op) {
  switch (op) {
    case EndpointOp::kPortStatus:
      return "port_status";
    case EndpointOp::kEvProbe:
      return "ev_probe";
  }
  return "reserved";
}

void append_bth(std::string* s, const Bth& b) {
  append(s, "%s dqp=0x%06x psn=%u", opcode_name(b.opcode), b.dqp, b.psn.value());
  append(s, " a=%d rtx=%d ts=%d pad=%u pkey=0x%04x", b.ack_req, b.rtx, b.ts, b.pad, b.pkey);
}

void append_tseth(std::string* s, const Tseth& t) {
  append(s, " tx_timestamp=%u tsr=%d ftype=%u", t.tx_timestamp, t.tsr, t.ftype);
}

void append_sack(std::string* s, const Seth& h, const CcState& cc) {
  append(s, " m=%s pr=%d", verdict_name(h.m), h.pr);
  if (h.pr) {
    append(s, " probe_id=%u", h.probe_id);
  } else {
    append(s, " ack_psn_offset=%d", h.ack_psn_offset);
  }
  append(s, " ev=0x%08x spdcid=0x%04x dpdcid=0x%04x cack=%u", h.entropy, h.spdcid, h.dpdcid, h.cack_psn.value());
  append(s, " cc_type=%u cc_fl=%u mpr=%u sack_offset=%d bitmap=0x%016" PRIx64, h.cc_type, h.cc_fl, h.mpr, h.sack_offset,
         h.sack_bitmap);
  append(s, " tx_timestamp=%u ooo=%u restore_cwnd=%d pen=%u rcvd_bytes=%u", cc.tx_timestamp, cc.ooo_count,
         cc.restore_cwnd, cc.rcv_cwnd_pen, cc.rcvd_bytes);
}

void append_spth(std::string* s, const Spth& h) {
  append(s, " total=%u first=%u set=0x%08x source_ports=", h.total, h.first, h.set);
  for (uint32_t i = 0; i < Spth::kPorts && h.ports[i] != 0; ++i) append(s, i == 0 ? "%u" : ",%u", h.ports[i]);
}

void append_request(std::string* s, const Packet& p) {
  append(s, " rqmsn=%u msn=%u", p.meth.rqmsn, p.meth.msn);
  if (p.bth.ts) append_tseth(s, p.tseth);
  if (p.trimmed) return;
  const Reth& r = p.req.reth;
  append(s, " va=0x%" PRIx64 " rkey=0x%08x dmalen=%u", r.va, r.rkey, r.dmalen);
  if (with_imm(p.bth.opcode)) append(s, " imm=0x%08x", p.req.imm.data);
  append(s, " payload=%u", p.payload_len);
}

void append_control(std::string* s, const Packet& p) {
  switch (p.bth.opcode) {
    case Opcode::kAck:
      append(s, " syndrome=0x%02x msn=%u", p.aeth.syndrome, p.aeth.msn);
      break;
    case Opcode::kSack:
      append_sack(s, p.sack.seth, p.sack.cc);
      break;
    case Opcode::kNack:
      append(s, " reason=%s(0x%02x) vendor=0x%02x ev=0x%08x spdcid=0x%04x dpdcid=0x%04x nack_psn=%u",
             nack_reason_name(p.neth.reason), static_cast<unsigned>(p.neth.reason), p.neth.vendor_info, p.neth.entropy,
             p.neth.spdcid, p.neth.dpdcid, p.neth.nack_psn.value());
      append(s, " cc_type=%u cc_fl=%u tx_timestamp=%u", p.neth.cc_type, p.neth.cc_fl, p.neth.tx_timestamp);
      break;
    case Opcode::kProbe:
      append(s, " vendor=0x%02x probe_id=%u spdcid=0x%04x dpdcid=0x%04x", p.peth.vendor_info, p.peth.probe_id,
             p.peth.spdcid, p.peth.dpdcid);
      append_tseth(s, p.peth.timestamp);
      break;
    case Opcode::kEndpointRequest:
      append(s, " op=%s vendor=0x%02x port_status_mask=0x%08x", endpoint_op_name(p.erth.op), p.erth.vendor_info,
             p.erth.port_status_mask);
      append_tseth(s, p.erth.timestamp);
      break;
    case Opcode::kEndpointResponse:
      append(s, " op=%s tx_timestamp=%u", endpoint_op_name(p.eeth.op), p.eeth.tx_timestamp);
      break;
    case Opcode::kPlaneRequest:
    case Opcode::kPlaneResponse:
      append(s, " version=%u plane=%u planes=%u slot=%u nonce=0x%016" PRIx64, p.plth.version, p.plth.plane,
             p.plth.planes, p.plth.slot, p.plth.nonce);
      append(s, " addr=%s port=%u port_base=%u ready=%d", p.plth.addr.to_string().c_str(), p.plth.port,
             p.plth.port_base, p.plth.ready ? 1 : 0);
      if (p.plth.ports) append_spth(s, p.spth());
      break;
    default:
      break;
  }
}

}  // namespace

const char* nack_reason_name(NackReason reason) {
  switch (reason) {
    case NackReason::kTrimmed:
      return "TRIMMED";
    case NackReason::kTrimmedLastHop:
      return "TRIMMED_LASTHOP";
    case NackReason::kNoBitmap:
      return "NO_BITMAP";
    case NackReason::kNoPktBuffer:
      return "NO_PKT_BUFFER";
    case NackReason::kNoResource:
      return "NO_RESOURCE";
    case NackReason::kPsnOorWindow:
      return "PSN_OOR_WINDOW";
    case NackReason::kUnexpEvent:
      return "UNEXP_EVENT";
  }
  return "UNKNOWN";
}

const char* decode_error_name(DecodeError e) {
  switch (e) {
    case DecodeError::kOk:
      return "ok";
    case DecodeError::kShortBth:
      return "short BTH";
    case DecodeError::kBadTver:
      return "transport version not 0";
    case DecodeError::kUnknownOpcode:
      return "unknown opcode";
    case DecodeError::kShortMeth:
      return "short METH";
    case DecodeError::kShortTseth:
      return "short TSETH";
    case DecodeError::kShortReth:
      return "short RETH";
    case DecodeError::kShortImmDt:
      return "short ImmDt";
    case DecodeError::kShortAeth:
      return "short AETH";
    case DecodeError::kShortSeth:
      return "short SETH";
    case DecodeError::kShortCcState:
      return "short CC_STATE";
    case DecodeError::kShortNeth:
      return "short NETH";
    case DecodeError::kShortPeth:
      return "short PETH";
    case DecodeError::kShortErth:
      return "short ERTH";
    case DecodeError::kShortEeth:
      return "short EETH";
    case DecodeError::kShortPlth:
      return "short PLTH";
    case DecodeError::kShortSpth:
      return "short SPTH";
    case DecodeError::kShortIcrc:
      return "no ICRC";
    case DecodeError::kBadPad:
      return "pad count does not fit";
    case DecodeError::kBadPayload:
      return "payload length contradicts opcode or RETH";
    case DecodeError::kTrailingBytes:
      return "bytes behind a control header";
    case DecodeError::kBadQpn:
      return "endpoint operation to an ordinary QPN";
    case DecodeError::kNotRequest:
      return "trimmed packet is no request";
  }
  return "unknown";
}

std::string to_text(const Packet& packet) {
  std::string s;
  append_bth(&s, packet.bth);
  if (is_request(packet.bth.opcode)) {
    append_request(&s, packet);
  } else if (!packet.trimmed) {
    append_control(&s, packet);
  }
  if (packet.trimmed) s += " trimmed";
  return s;
}

std::string bytes_to_text(const uint8_t* data, uint32_t len) {
  Packet packet;
  const DecodeError e = decode(data, len, &packet);
  if (e == DecodeError::kOk) return to_text(packet);
  std::string s = "undecodable (";
  s += decode_error_name(e);
  append(&s, ") length=%u bytes=", len);
  for (uint32_t i = 0; i < std::min(len, 64u); ++i) append(&s, "%02x", data[i]);
  return s;
}

std::string ev_text(uint32_t ev) {
  char text[32];
  if (ev >> 16 == 0)
    std::snprintf(text, sizeof text, "%u", ev);
  else
    std::snprintf(text, sizeof text, "0x%04x:%u", ev >> 16, ev & 0xFFFF);
  return text;
}

}  // namespace mrc::wire
