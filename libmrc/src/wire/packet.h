// Packet: one decoded MRC packet, and the encoders the engine uses. decode() checks every length before it reads and
// returns the check that failed; no input triggers an assertion [MRC-WIRE-1..6, spec/wire.md]. The ICRC is not checked
// here, see icrc.h.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <type_traits>

#include "wire/layout.h"
#include "wire/udp.h"

namespace mrc::wire {

enum class DecodeError : uint8_t {
  kOk = 0,
#define MRC_HEADER_ERROR(Header) kShort##Header,
  MRC_HEADERS(MRC_HEADER_ERROR)  // fewer bytes than the header has
#undef MRC_HEADER_ERROR
  kBadTver,
  kUnknownOpcode,
  kShortIcrc,      // headers are whole, fewer than four bytes follow
  kBadPad,         // pad count does not fit the bytes between headers and ICRC, or is not allowed here
  kBadPayload,     // payload length contradicts opcode and RETH.dmalen
  kTrailingBytes,  // control packet with bytes between headers and ICRC
  kBadQpn,         // endpoint operation with a QPN other than 2
  kNotRequest,     // decode_trimmed: only request packets and probes are trimmable
};

const char* decode_error_name(DecodeError e);

// The error of a packet that ends before the end of this header.
template <typename Header>
inline constexpr DecodeError kShort = DecodeError::kOk;
#define MRC_HEADER_SHORT(Header) \
  template <>                    \
  inline constexpr DecodeError kShort<Header> = DecodeError::kShort##Header;
MRC_HEADERS(MRC_HEADER_SHORT)
#undef MRC_HEADER_SHORT

struct RequestHeaders {
  Reth reth;
  ImmDt imm;
};
struct DatagramHeaders {
  Deth deth;
  ImmDt imm;
};
struct SackHeaders {
  Seth seth;
  CcState cc;
};

// Which union member is valid follows from bth.opcode. Meth and Tseth are outside of the union because trimmed packets
// have them, too.
struct Packet {
  Packet() : req() {}

  Bth bth;
  Meth meth;                         // requests
  Tseth tseth;                       // requests with bth.ts
  bool trimmed = false;              // only bth, meth and, with bth.ts, tseth were decoded; the union is not valid
  const uint8_t* payload = nullptr;  // with plth.ports, the SPTH
  uint32_t payload_len = 0;          // without pad and ICRC
  union {
    RequestHeaders req;  // is_request; req.imm only if with_imm
    DatagramHeaders ud;  // is_datagram; ud.imm only if with_imm
    Aeth aeth;           // kAck
    SackHeaders sack;    // kSack
    Neth neth;           // kNack
    Peth peth;           // kProbe
    Erth erth;           // kEndpointRequest
    Eeth eeth;           // kEndpointResponse
    Plth plth;           // kPlaneRequest, kPlaneResponse; with plth.ports, spth() is valid
  };
  Spth spth() const { return header_at<Spth>({payload, payload_len}, 0); }
};

// Calls visit(header) for each header behind the BTH of a control packet that is a member of the packet, in their
// order.
template <typename AnyPacket, typename Visit>
void for_each_stored_header(AnyPacket& p, Visit visit) {
  switch (p.bth.opcode) {
    case Opcode::kAck:
      return visit(p.aeth);
    case Opcode::kSack:
      visit(p.sack.seth);
      return visit(p.sack.cc);
    case Opcode::kNack:
      return visit(p.neth);
    case Opcode::kProbe:
      return visit(p.peth);
    case Opcode::kEndpointRequest:
      return visit(p.erth);
    case Opcode::kEndpointResponse:
      return visit(p.eeth);
    case Opcode::kPlaneRequest:
    case Opcode::kPlaneResponse:
      return visit(p.plth);
    case Opcode::kDatagram:  // datagrams and requests
    case Opcode::kDatagramImm:
    case Opcode::kWriteFirst:
    case Opcode::kWriteMiddle:
    case Opcode::kWriteLast:
    case Opcode::kWriteLastImm:
    case Opcode::kWriteOnly:
    case Opcode::kWriteOnlyImm:
      return;
  }
}

constexpr bool is_plane_operation(Opcode op) {
  return op == Opcode::kPlaneRequest || op == Opcode::kPlaneResponse;
}

// The same for all headers behind the BTH of a decoded control packet.
template <typename Visit>
void for_each_control_header(const Packet& p, Visit visit) {
  for_each_stored_header(p, visit);
  if (is_plane_operation(p.bth.opcode) && p.plth.ports) visit(p.spth());
}

static_assert(sizeof(Packet) <= 104 && std::is_trivially_copyable_v<Packet>);

// Zeros after an endpoint request, which make it as long as its response [MRC-EVP-6].
inline constexpr uint32_t kEndpointPadding = Eeth::kSize - Erth::kSize;
// EV probes that test the path MTU have any number of zeros from this on [MRC-EVP-7].
inline constexpr uint32_t kMinProbePadding = 64;

// `packet` is a UDP payload: BTH to ICRC. *out is complete only when kOk is returned, and points into `packet`.
[[nodiscard]] DecodeError decode(std::span<const uint8_t> packet, Packet* out);

// For packets with the DSCP of trimmed packets: decodes BTH, METH and, with BTH.ts, TSETH; the rest is
// ignored, and there is no ICRC [MRC-CHOICE-Q24]. A trimmed probe keeps only its BTH.
[[nodiscard]] DecodeError decode_trimmed(std::span<const uint8_t> packet, Packet* out);

// Pad count for a payload: headers, payload and pad end on a multiple of four [MRC-BTH-3].
constexpr uint8_t pad_for(uint32_t payload_len) {
  return static_cast<uint8_t>((0u - payload_len) & 3);
}

// Bytes on the wire, BTH to ICRC.
constexpr uint32_t packet_bytes(Opcode op, bool ts, uint32_t payload_len) {
  return header_bytes(op, ts) + payload_len + pad_for(payload_len) + kIcrcBytes;
}

// Writes consecutive headers. The caller provides enough room, which is asserted.
class HeaderWriter {
 public:
  explicit HeaderWriter(std::span<uint8_t> out) : out_(out) {}
  template <typename Header>
  void put(const Header& h) {
    assert(out_.size() >= at_ + Header::kSize);
    h.encode(out_.subspan(at_).template first<Header::kSize>());
    at_ += Header::kSize;
  }
  uint32_t bytes() const { return at_; }

 private:
  std::span<uint8_t> out_;
  uint32_t at_ = 0;
};

// Encoders write headers and return their length; `out` needs header_bytes(), and the caller appends payload, pad and
// ICRC. Each sets the opcode, and encode_request_headers BTH.ts, whatever `bth` says. `tseth` may be null; `imm` is
// read when the opcode has one.
inline uint32_t encode_request_headers(std::span<uint8_t> out, Opcode op, const Bth& bth, const Meth& meth,
                                       const Tseth* tseth, const Reth& reth, const uint32_t* imm) {
  Bth b = bth;
  b.opcode = op;
  b.ts = tseth != nullptr;
  HeaderWriter w(out);
  w.put(b);
  w.put(meth);
  if (tseth != nullptr) w.put(*tseth);
  w.put(reth);
  if (with_imm(op)) w.put(ImmDt{imm != nullptr ? *imm : 0});
  return w.bytes();
}

// `imm` is read when the opcode has one.
inline uint32_t encode_datagram_headers(std::span<uint8_t> out, Opcode op, const Bth& bth, const Deth& deth,
                                        uint32_t imm) {
  Bth b = bth;
  b.opcode = op;
  HeaderWriter w(out);
  w.put(b);
  w.put(deth);
  if (with_imm(op)) w.put(ImmDt{imm});
  return w.bytes();
}

uint32_t encode_ack(std::span<uint8_t> out, const Bth& bth, const Aeth& aeth);
uint32_t encode_sack(std::span<uint8_t> out, const Bth& bth, const Seth& seth, const CcState& cc);
uint32_t encode_nack(std::span<uint8_t> out, const Bth& bth, const Neth& neth);
uint32_t encode_probe(std::span<uint8_t> out, const Bth& bth, const Peth& peth);
uint32_t encode_endpoint_request(std::span<uint8_t> out, const Bth& bth, const Erth& erth);
uint32_t encode_endpoint_response(std::span<uint8_t> out, const Bth& bth, const Eeth& eeth);
// `spth` may be null; PLTH.ports is set by it.
uint32_t encode_plane_request(std::span<uint8_t> out, const Bth& bth, const Plth& plth, const Spth* spth = nullptr);
uint32_t encode_plane_response(std::span<uint8_t> out, const Bth& bth, const Plth& plth, const Spth* spth = nullptr);

// Encodes a decoded packet, with payload and pad, without the ICRC; for tools and tests. `out` needs
// packet_bytes(...) room. Returns the length written.
uint32_t encode_packet(std::span<uint8_t> out, const Packet& packet);

}  // namespace mrc::wire
