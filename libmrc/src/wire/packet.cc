// See packet.h. Decoding goes header by header, so that a truncated packet reports the missing header.
#include "wire/packet.h"

#include <algorithm>

namespace mrc::wire {
namespace {

// Walks over the packet; `left` is the part not decoded yet.
struct Cursor {
  std::span<const uint8_t> left;

  template <typename Header>
  [[nodiscard]] bool take(Header* out) {
    if (left.size() < Header::kSize) return false;
    *out = Header::decode(left.first<Header::kSize>());
    left = left.subspan(Header::kSize);
    return true;
  }
  uint32_t bytes() const { return static_cast<uint32_t>(left.size()); }
};

DecodeError decode_bth(Cursor* c, Bth* bth) {
  if (!c->take(bth)) return DecodeError::kShortBth;
  if (bth->tver != 0) return DecodeError::kBadTver;
  if (!is_known(bth->opcode)) return DecodeError::kUnknownOpcode;
  return DecodeError::kOk;
}

// Always inline: a call would keep the cursor in memory for every data packet.
[[gnu::always_inline]] inline DecodeError decode_message_numbers(Cursor* c, Packet* out) {
  if (!c->take(&out->meth)) return DecodeError::kShortMeth;
  if (out->bth.ts && !c->take(&out->tseth)) return DecodeError::kShortTseth;
  return DecodeError::kOk;
}

// Takes what follows the headers: payload and pad, whose sum is a multiple of four [MRC-BTH-3].
[[gnu::always_inline]] inline DecodeError decode_body(const Cursor& c, bool may_pad, Packet* out) {
  if (c.bytes() < kIcrcBytes) return DecodeError::kShortIcrc;
  const uint32_t body = c.bytes() - kIcrcBytes;
  const uint8_t pad = out->bth.pad;
  if (body % 4 != 0 || pad > body || (pad != 0 && !may_pad)) return DecodeError::kBadPad;
  out->payload = c.left.data();
  out->payload_len = body - pad;
  return DecodeError::kOk;
}

// [MRC-WIRE-4] Only carries the whole message, the others a proper, non-empty part of it.
bool payload_fits(Opcode op, uint32_t payload_len, uint32_t dmalen) {
  if (is_only(op)) return payload_len == dmalen;
  return payload_len > 0 && payload_len < dmalen;
}

DecodeError decode_request(Cursor* c, Packet* out) {
  const DecodeError e = decode_message_numbers(c, out);
  if (e != DecodeError::kOk) return e;
  if (!c->take(&out->req.reth)) return DecodeError::kShortReth;
  const Bth& bth = out->bth;
  if (with_imm(bth.opcode) && !c->take(&out->req.imm)) return DecodeError::kShortImmDt;
  const DecodeError bad = decode_body(*c, ends_message(bth.opcode), out);
  if (bad != DecodeError::kOk) return bad;
  if (!payload_fits(bth.opcode, out->payload_len, out->req.reth.dmalen)) return DecodeError::kBadPayload;
  return DecodeError::kOk;
}

// [MRC-EXT-8] The list of ports stays in the packet, as its payload.
DecodeError decode_ports(Cursor* c, Packet* out) {
  if (c->bytes() < Spth::kSize) return DecodeError::kShortSpth;
  out->payload = c->left.data();
  out->payload_len = Spth::kSize;
  c->left = c->left.subspan(Spth::kSize);
  return DecodeError::kOk;
}

// [MRC-UD-1]
DecodeError decode_datagram(Cursor* c, Packet* out) {
  if (!c->take(&out->ud.deth)) return DecodeError::kShortDeth;
  if (with_imm(out->bth.opcode) && !c->take(&out->ud.imm)) return DecodeError::kShortImmDt;
  return decode_body(*c, true, out);
}

DecodeError decode_control_headers(Cursor* c, Packet* out) {
  DecodeError e = DecodeError::kOk;
  for_each_stored_header(*out, [&]<typename Header>(Header& header) {
    if (e == DecodeError::kOk && !c->take(&header)) e = kShort<Header>;
  });
  if (e != DecodeError::kOk || !is_plane_operation(out->bth.opcode) || !out->plth.ports) return e;
  return decode_ports(c, out);
}

DecodeError decode_control(Cursor* c, Packet* out) {
  const DecodeError e = decode_control_headers(c, out);
  if (e != DecodeError::kOk) return e;
  if (c->bytes() < kIcrcBytes) return DecodeError::kShortIcrc;
  const Bth& bth = out->bth;
  if (c->bytes() > kIcrcBytes) {
    // An endpoint request may be as long as its response, an EV probe as long as a data packet [MRC-EVP-6..7].
    const uint32_t padding = c->bytes() - kIcrcBytes;
    const bool may =
        bth.opcode == Opcode::kEndpointRequest &&
        (padding == kEndpointPadding || (padding >= kMinProbePadding && out->erth.op == EndpointOp::kEvProbe));
    if (!may) return DecodeError::kTrailingBytes;
  }
  if (bth.pad != 0) return DecodeError::kBadPad;
  if (is_endpoint_operation(bth.opcode) && bth.dqp != kEndpointQpn) return DecodeError::kBadQpn;  // [MRC-BTH-5]
  return DecodeError::kOk;
}

void start_packet(Packet* out) {
  out->trimmed = false;
  out->payload = nullptr;
  out->payload_len = 0;
}

template <typename... Headers>
uint32_t encode_control(std::span<uint8_t> out, Opcode op, const Bth& bth, const Headers&... headers) {
  Bth b = bth;
  b.opcode = op;
  b.pad = 0;
  HeaderWriter w(out);
  w.put(b);
  (w.put(headers), ...);
  return w.bytes();
}

uint32_t encode_planes(std::span<uint8_t> out, Opcode op, const Bth& bth, Plth plth, const Spth* spth) {
  plth.ports = spth != nullptr;
  return spth == nullptr ? encode_control(out, op, bth, plth) : encode_control(out, op, bth, plth, *spth);
}

}  // namespace

DecodeError decode(std::span<const uint8_t> packet, Packet* out) {
  Cursor c{packet};
  start_packet(out);
  const DecodeError e = decode_bth(&c, &out->bth);
  if (e != DecodeError::kOk) return e;
  if (is_request(out->bth.opcode)) return decode_request(&c, out);
  return is_datagram(out->bth.opcode) ? decode_datagram(&c, out) : decode_control(&c, out);
}

DecodeError decode_trimmed(std::span<const uint8_t> packet, Packet* out) {
  Cursor c{packet};
  start_packet(out);
  out->trimmed = true;
  const DecodeError e = decode_bth(&c, &out->bth);
  if (e != DecodeError::kOk) return e;
  if (out->bth.opcode == Opcode::kProbe) return DecodeError::kOk;
  if (!is_request(out->bth.opcode)) return DecodeError::kNotRequest;
  return decode_message_numbers(&c, out);
}

uint32_t encode_ack(std::span<uint8_t> out, const Bth& bth, const Aeth& aeth) {
  return encode_control(out, Opcode::kAck, bth, aeth);
}
uint32_t encode_sack(std::span<uint8_t> out, const Bth& bth, const Seth& seth, const CcState& cc) {
  return encode_control(out, Opcode::kSack, bth, seth, cc);
}
uint32_t encode_nack(std::span<uint8_t> out, const Bth& bth, const Neth& neth) {
  return encode_control(out, Opcode::kNack, bth, neth);
}
uint32_t encode_probe(std::span<uint8_t> out, const Bth& bth, const Peth& peth) {
  return encode_control(out, Opcode::kProbe, bth, peth);
}
uint32_t encode_endpoint_request(std::span<uint8_t> out, const Bth& bth, const Erth& erth) {
  return encode_control(out, Opcode::kEndpointRequest, bth, erth);
}
uint32_t encode_endpoint_response(std::span<uint8_t> out, const Bth& bth, const Eeth& eeth) {
  return encode_control(out, Opcode::kEndpointResponse, bth, eeth);
}
uint32_t encode_plane_request(std::span<uint8_t> out, const Bth& bth, const Plth& plth, const Spth* spth) {
  return encode_planes(out, Opcode::kPlaneRequest, bth, plth, spth);
}
uint32_t encode_plane_response(std::span<uint8_t> out, const Bth& bth, const Plth& plth, const Spth* spth) {
  return encode_planes(out, Opcode::kPlaneResponse, bth, plth, spth);
}

uint32_t encode_packet(std::span<uint8_t> out, const Packet& packet) {
  const Opcode op = packet.bth.opcode;
  Bth bth = packet.bth;
  if (is_control(op)) {
    bth.pad = 0;
    HeaderWriter w(out);
    w.put(bth);
    for_each_control_header(packet, [&](const auto& header) { w.put(header); });
    return w.bytes();
  }
  bth.pad = pad_for(packet.payload_len);
  uint32_t n = is_datagram(op) ? encode_datagram_headers(out, op, bth, packet.ud.deth, packet.ud.imm.data)
                               : encode_request_headers(out, op, bth, packet.meth, bth.ts ? &packet.tseth : nullptr,
                                                        packet.req.reth, &packet.req.imm.data);
  assert(out.size() >= n + packet.payload_len + bth.pad);
  std::copy_n(packet.payload, packet.payload_len, out.begin() + n);
  n += packet.payload_len;
  std::fill_n(out.begin() + n, bth.pad, uint8_t{0});
  return n + bth.pad;
}

}  // namespace mrc::wire
