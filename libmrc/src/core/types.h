// Types of the engine: input (work requests, attributes) and output (completions, events).
// Independent of verbs: the API layer translates, so that ns-3 and tests drive the engine without libibverbs.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/ip.h"
#include "base/planes.h"
#include "base/psn.h"
#include "base/time.h"

namespace mrc::core {

enum class QpState : uint8_t { kReset, kInit, kRtr, kRts, kError };

// The state machine of queue pairs, reliable and of datagrams. [API-QP-1]
constexpr bool is_transition(QpState from, QpState to) {
  switch (to) {
    case QpState::kReset:
    case QpState::kError:
      return true;
    case QpState::kInit:
      return from == QpState::kReset || from == QpState::kInit;
    case QpState::kRtr:
      return from == QpState::kInit;
    case QpState::kRts:
      return from == QpState::kRtr || from == QpState::kRts;
  }
  return false;
}

// Packets of a message of `length` bytes.
constexpr uint32_t packets_of(uint32_t length, uint32_t mtu) {
  return length <= mtu ? 1 : (length - 1) / mtu + 1;
}

// Access flags of memory regions and QPs, same values as IBV_ACCESS_*.
inline constexpr uint32_t kAccessLocalWrite = 1;
inline constexpr uint32_t kAccessRemoteWrite = 2;
// Of a region only: writable by peers regardless of the QP's access flags (mrc_soft.h).
inline constexpr uint32_t kAccessAnyQp = 1u << 30;

// The reserved key of mailboxes; the key table allocates none below 256.
inline constexpr Key kMailboxKey = Key(1);

// Memory of a QP that the reserved key opens; absent: no such memory. [MRC-MBX-1]
struct Mailbox {
  uint8_t* base = nullptr;
  uint64_t length = 0;
  uint64_t wr_id = 0;
  bool present = false;
};

// When the payload of a packet is written to memory: on its arrival, or in the order in which packets were sent. kAuto:
// in order for QPs with a mailbox, which are those of programs for verbs. [MRC-RSP-15]
enum class Placement : uint8_t { kAuto, kArrival, kInOrder };

enum class SendOp : uint8_t { kWrite, kWriteImm };

struct Sge {
  uint64_t addr = 0;
  uint32_t length = 0;
  Key lkey;
};

struct SendWr {
  uint64_t wr_id = 0;
  SendOp op = SendOp::kWrite;
  bool signaled = false;
  bool inline_data = false;  // copy the SGEs' bytes now; lkeys are not checked
  bool fence = false;        // accepted: MRC has no READ or atomic to wait for [MRC-REQ-9]
  const Sge* sges = nullptr;
  uint32_t num_sge = 0;
  uint64_t remote_addr = 0;
  Key rkey;
  uint32_t imm = 0;  // 32 opaque bits in memory order
};

// kUnreadable: data to be sent inline is not in readable memory.
enum class PostResult : uint8_t { kOk, kQueueFull, kBadState, kTooManySges, kInlineTooLong, kTooLong, kUnreadable };

enum class WcStatus : uint8_t {
  kSuccess,
  kLocalProtection,
  kFlushed,
  kRemoteInvalidRequest,
  kRemoteAccess,
  kRemoteOperation,
  kRetryExceeded,
  kPathMtu  // the packets are larger than any path to the peer carries [MRC-MTU-4]
};

// One finished work request. For sends `slots` is the number of send-queue slots that become free when the application
// has polled this completion: itself and the unsignalled requests before it (spec/clients.md rule 12).
struct Completion {
  uint64_t wr_id = 0;
  WcStatus status = WcStatus::kSuccess;
  bool is_recv = false;
  bool with_imm = false;
  bool mailbox = false;  // a write with immediate to the mailbox: no receive request was consumed
  bool solicited = false;
  Qpn qpn;
  uint32_t byte_len = 0;
  uint32_t imm = 0;
  uint32_t slots = 1;
  Qpn src_qpn;             // of a received datagram
  bool v4_header = false;  // before its data, else IPv6
};

// kQpContradicted: two packets contradicted each other, so one that was accepted may have been forged [MRC-SEC-3].
enum class AsyncEvent : uint8_t { kQpFatal, kQpRequestError, kQpAccessError, kQpContradicted, kPortDown, kPortUp };

// Memory of a region that could not be accessed: it was unmapped, truncated or protected while it was registered.
struct MemoryFault {
  uint64_t address = 0;
  uint64_t region = 0;  // its first address, and its length
  uint64_t length = 0;
  Key key;
  bool write = false;  // the access
};

class Qp;
enum class EvState : uint8_t;
struct EvChoice;
struct CongestionConfig;

// Identifies an interned peer: a remote NIC as used by one remote process (UDP port).
using PeerId = uint32_t;
inline constexpr PeerId kNoPeer = UINT32_MAX;

// A path that failed, as one engine of a device reports it to the others [MRC-EVS-16]: the EV by its value, towards
// every peer that has the address on the plane.
struct PathReport {
  IpAddress addr;
  uint32_t ev = 0;
  PlaneId plane;
};

// Reports of a QP to its owner. Called from inside the engine's calls, on the caller's thread; must not call back into
// the engine.
class QpSink {
 public:
  // False: the completion cannot be delivered (CQ overrun) and the QP goes to error.
  virtual bool on_completion(const Completion& c) = 0;
  virtual void on_event(AsyncEvent e) = 0;
  // Of the messages to the mailbox that were completed since the QP was reset last, how many are answered, and the
  // peer has the answers. [MRC-MBX-2]
  virtual uint32_t mailbox_answered() const { return 0; }

 protected:
  ~QpSink() = default;
};

// Reports of the engine that concern no single owner; the rules of QpSink apply.
class Sink {
 public:
  virtual ~Sink() = default;
  // The QP fails, or one request of it, for this. [API-MEM-2]
  virtual void on_memory_fault(Qpn /*qpn*/, const MemoryFault& /*fault*/) {}
  virtual void on_port_event(PlaneId plane, AsyncEvent e) = 0;
  // Answer (or its absence: rtt infinite) to an EV probe or port status update of start_endpoint_op.
  virtual void on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt) = 0;
  // An EV towards some peer changed its state; `losses` on it since the last such call. Never kSkip [MRC-EVS-1].
  virtual void on_ev_state(EvIndex /*ev_index*/, EvState /*to*/, uint64_t /*losses*/) {}
  // This engine has found that the path is bad: for on_path_failed() of the device's other engines.
  virtual void on_path_failed(const PathReport& /*path*/) {}
  // A plane towards that peer carries packets of path MTU `carries` but not those of `wanted` [MRC-MTU-3].
  virtual void on_path_mtu(PeerId /*peer*/, PlaneId /*plane*/, uint32_t /*carries*/, uint32_t /*wanted*/) {}
  // A peer is new, or an address of it was learnt: state that depends on its addresses must be updated.
  virtual void on_peer_addresses(PeerId /*peer*/) {}
};

struct QpCaps {
  uint32_t max_send_wr = 1;
  uint32_t max_recv_wr = 1;
  uint32_t max_send_sge = 1;
  uint32_t max_inline = 0;
};

struct QpInit {
  QpSink* sink = nullptr;  // outlives the QP
  Qpn qpn;                 // chosen by the device: process slot in the top bits
  uint32_t pd = 0;         // protection domain id
  QpCaps caps;
};

struct PlaneAddress {
  IpAddress addr;
  uint16_t port = 0;
  friend bool operator==(const PlaneAddress& a, const PlaneAddress& b) { return a.addr == b.addr && a.port == b.port; }
};

// One entry per plane, in plane order; a plane that the peer does not have holds a zero address.
struct PeerDescription {
  PerPlane<PlaneAddress> planes;
  bool learn = false;  // only plane 0 is given; the peer is queried for the others [MRC-EXT-1]
  uint8_t slot = 0;    // learn: process slot of the peer, for the ports of the planes to come
  bool nic = false;    // no endpoint of this software: it is sent only packets of OCP MRC
  // A multicast group [MRC-UD-9]: per plane, the address and port from which datagrams leave. Empty: a host.
  PerPlane<PlaneAddress> sources;
  uint8_t hop_limit = 0;  // of a group
  bool is_group() const { return !sources.empty(); }
  friend bool operator==(const PeerDescription& a, const PeerDescription& b) {
    return a.planes == b.planes && a.learn == b.learn && a.slot == b.slot && a.nic == b.nic && a.sources == b.sources &&
           a.hop_limit == b.hop_limit;
  }
  template <typename Hash>
  friend Hash AbslHashValue(Hash h, const PeerDescription& d) {
    for (const PlaneAddress& plane : d.planes) h = Hash::combine(std::move(h), plane.addr, plane.port);
    return Hash::combine(std::move(h), d.planes.size(), d.learn, d.slot, d.nic, d.sources.size(), d.hop_limit);
  }
};

// Everything that modify_qp can set; the API keeps one per QP and applies it with the transition. Defaults suit a
// caller that sets none of the MRC attributes (spec/clients.md rule 5).
struct QpAttr {
  PeerId peer = kNoPeer;
  Qpn dest_qpn;
  uint32_t path_mtu = 4096;
  Psn sq_psn;
  Psn rq_psn;
  uint32_t access = 0;
  uint16_t pkey = 0xFFFF;
  uint8_t traffic_class = 0;  // from the AV; 0 means the device's data DSCP
  uint8_t mpr = 32;           // requester window, units of 128 PSNs
  uint8_t mpr_dest = 32;      // responder window, units of 128 PSNs
  bool dynamic_mpr = false;
  bool trim_nack = true;                               // the peer can answer trimmed packets
  uint16_t max_wimm = 128;                             // WriteIMMs in flight as requester
  uint16_t max_wimm_dest = 128;                        // and as responder
  uint8_t timeout = 14;                                // 1.024 us * 2^timeout, 0..24
  uint8_t retry_linear = 7;                            // 0..7
  uint8_t retry_exp = 15;                              // 0..25, 25 = for ever; 15: two minutes at timeout 14
  std::shared_ptr<const CongestionConfig> congestion;  // CC profile; null: as the endpoint is configured
  std::shared_ptr<const EvChoice> evs;                 // EV profile; null: the active set
};

}  // namespace mrc::core
