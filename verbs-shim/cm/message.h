// Messages that set up and end connections for rdma_cm: one per UDP datagram, integers in network order. The layout and
// the rules CM-* are in spec/rdma_cm.md.
//
// A message is a header of 24 bytes and a body whose fields depend on the type. Private data comes last and fills the
// datagram. Every field is checked by decode(): a message that it accepts encodes to the same bytes again. [CM-MSG-1]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mrc::shim::cm {

enum class Type : uint8_t {
  kHello = 1,   // client to listener: asks for a cookie
  kCookie = 2,  // the listener's answer, for which it keeps no state
  kReq = 3,     // asks for a connection
  kMra = 4,     // the REQ or REP has arrived and its application has not decided yet
  kRep = 5,     // accepts
  kRtu = 6,     // the client is ready to use
  kRej = 7,     // refuses, in answer to a REQ or a REP
  kDreq = 8,    // disconnects
  kDrep = 9,    // confirms that, or states that the connection is unknown
  kPing = 10,   // probes for a peer whose process has ended
  kPong = 11,
  kSidrReq = 12,  // asks for the queue pair that serves datagrams
  kSidrRep = 13,  // names it, or refuses
};

// Reasons of a REJ and of RDMA_CM_EVENT_REJECTED, as InfiniBand numbers them.
inline constexpr uint16_t kReasonTimeout = 4;
inline constexpr uint16_t kReasonInvalidService = 8;
inline constexpr uint16_t kReasonConsumer = 28;
inline constexpr uint16_t kReasonVendorOption = 35;  // it does not support it

// Statuses of a SidrRep, as InfiniBand numbers them; not 0 is the status of RDMA_CM_EVENT_UNREACHABLE.
inline constexpr uint8_t kSidrSuccess = 0;
inline constexpr uint8_t kSidrUnsupported = 1;  // there is no listener
inline constexpr uint8_t kSidrReject = 2;
inline constexpr uint8_t kMaxSidrStatus = 5;

inline constexpr size_t kHeaderBytes = 24;
inline constexpr size_t kMaxPrivate = 196;
inline constexpr size_t kMaxMessageBytes = 512;
// Longest private data, and the length with which applications see it: the kernel's, which pads with zeros. [CM-MSG-2]
inline constexpr size_t kReqPrivate = 56;
inline constexpr size_t kRepPrivate = 196;
inline constexpr size_t kRejPrivate = 148;
inline constexpr size_t kSidrReqPrivate = 180;
inline constexpr size_t kSidrRepPrivate = 136;

// An IP address, IPv4 in IPv6 form, and a UDP port in host order.
struct Address {
  std::array<uint8_t, 16> ip{};
  uint16_t port = 0;
  uint32_t scope = 0;  // interface of a link-local address; never in a message

  friend bool operator==(const Address& a, const Address& b) { return a.ip == b.ip && a.port == b.port; }
};

struct PrivateData {
  std::array<uint8_t, kMaxPrivate> bytes{};
  uint8_t size = 0;
};

// What a side sends to the other about its queue pair.
struct Parameters {
  std::array<uint8_t, 16> gid{};
  uint32_t qpn = 0;                 // 24 bits
  uint32_t psn = 0;                 // of its first packet, 24 bits
  uint8_t mtu = 5;                  // enum ibv_mtu: in a REQ the largest, in a REP the one to use
  uint8_t responder_resources = 0;  // READs and atomics that it answers at a time
  uint8_t initiator_depth = 0;      // that it may have in flight
  uint8_t retry_count = 7;          // 3 bits, as the next one
  uint8_t rnr_retry_count = 7;
  bool flow_control = true;
  bool srq = false;
};

struct Message {
  Type type = Type::kHello;
  uint64_t source = 0;       // the sender's number for the connection, drawn at random
  uint64_t destination = 0;  // the receiver's; 0: not known yet
  uint64_t cookie = 0;       // of a Cookie and of a request
  uint16_t port_space = 0;   // of a request: enum rdma_ucm_port_space
  uint16_t port = 0;         // of a request: the client's port in that space
  uint16_t reason = 0;       // of a REJ
  uint8_t status = 0;        // of a SidrRep
  uint32_t qkey = 0;         // of a SidrRep
  Parameters parameters;     // of a REQ and of a REP; GID and QPN of a SidrRep
  PrivateData private_data;  // of requests, REP, REJ and SidrRep
};

constexpr bool is_request(Type type) {
  return type == Type::kReq || type == Type::kSidrReq;
}

enum class DecodeError : uint8_t { kOk, kLength, kMagic, kType, kNumber, kField };

std::vector<uint8_t> encode(const Message& message);
DecodeError decode(const uint8_t* bytes, size_t size, Message* out);

}  // namespace mrc::shim::cm
