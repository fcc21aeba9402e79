// The protocol of software peers through their mailboxes: SEND, READ and atomics on top of MRC writes.
//
// A mailbox holds kWindow request slots and kWindow reply slots. Request number s, counted from 1 by each requester, is
// written to request slot s mod kWindow; its reply, if it has one with content, to reply slot s mod kWindow. Every
// message is announced by the immediate of the write that carries it: note (4 bits), argument (8), number (20). A
// message without content is a write of zero bytes with that immediate. All integers are little-endian, the immediate
// is big-endian. spec/verbs.md has the protocol, rules VRB-MBX-*.
#pragma once

#include <arpa/inet.h>

#include <cstddef>
#include <cstdint>

namespace mrc::shim {

inline constexpr uint32_t kWindow = 64;  // requests in flight, per direction [VRB-MBX-1]
// A request slot: header and, for an eager SEND, the data. 8 KiB fit with what a library puts before them: UCX sends
// eager messages in pieces of 8256 bytes, and a longer SEND costs a round trip before its data.
inline constexpr uint32_t kSlotBytes = 8448;
inline constexpr uint32_t kHeaderBytes = 64;                        // of a request
inline constexpr uint32_t kEagerBytes = kSlotBytes - kHeaderBytes;  // longest SEND that fits into its slot
static_assert(kEagerBytes >= 8256);
inline constexpr uint32_t kReplyBytes = 512;  // reply slot
inline constexpr uint32_t kMaxSegments = 16;  // pieces of memory in one request or reply
inline constexpr uint32_t kMailboxBytes = kWindow * (kSlotBytes + kReplyBytes);
inline constexpr uint32_t kNumberBits = 20;
inline constexpr uint32_t kNumberMask = (1u << kNumberBits) - 1;

enum class Note : uint8_t {
  kNone = 0,
  // From the requester.
  kSend = 1,    // a SEND, data in the slot
  kReady = 2,   // a SEND whose data waits for a destination: answered by kClear
  kRead = 3,    // RDMA READ
  kAtomic = 4,  // fetch-add or compare-swap
  kFinish = 5,  // the data of the kReady of that number is in place
  // From the responder. All but kClear and kNotReady confirm that every request before it was carried out.
  kAck = 8,          // this one was carried out, too
  kClear = 9,        // destination of the data of a kReady
  kReadDone = 10,    // the data of a READ is in place
  kAtomicDone = 11,  // the value before is in the reply slot
  kRefused = 12,     // argument: the status with which the request fails; no later request is carried out
  kNotReady = 13,    // a SEND waits for a receive request; argument: the responder's RNR timer code
};

struct Immediate {
  Note note = Note::kNone;
  uint8_t argument = 0;
  uint32_t number = 0;  // low 20 bits
};

// In network order, as ibv_send_wr::imm_data holds it.
inline uint32_t pack(const Immediate& i) {
  return htonl(static_cast<uint32_t>(i.note) << 28 | static_cast<uint32_t>(i.argument) << kNumberBits |
               (i.number & kNumberMask));
}
inline Immediate unpack(uint32_t network) {
  const uint32_t v = ntohl(network);
  return {static_cast<Note>(v >> 28), static_cast<uint8_t>(v >> kNumberBits), v & kNumberMask};
}

inline uint32_t request_offset(uint32_t number) {
  return number % kWindow * kSlotBytes;
}
inline uint32_t reply_offset(uint32_t number) {
  return kWindow * kSlotBytes + number % kWindow * kReplyBytes;
}

struct Segment {
  uint64_t addr = 0;
  uint32_t key = 0;
  uint32_t length = 0;
};

enum RequestFlags : uint8_t {
  kWithImmediate = 1,
  kSolicited = 2,
  kCompareSwap = 4,  // else fetch-add
  kConfirms = 8,     // `confirmed` has the meaning of kAck
};

// The header of a request; segments follow it in kRead.
struct Request {
  Note note = Note::kNone;
  uint8_t flags = 0;
  uint16_t segments = 0;
  uint32_t number = 0;
  uint32_t length = 0;       // of the message
  uint32_t immediate = 0;    // the application's, bit for bit
  uint64_t remote_addr = 0;  // kRead, kAtomic
  uint32_t rkey = 0;
  uint32_t reply_psn = 0;  // where the requester expects the responder's own packets to begin
  uint64_t operand = 0;    // value to add, or to compare with
  uint64_t swap = 0;
  uint32_t confirmed = 0;
};

// Writes the header, kHeaderBytes of it.
void encode(const Request& request, uint8_t* out);
Request decode_request(const uint8_t* in);
void encode_segments(const Segment* segments, uint32_t count, uint8_t* out);
void decode_segments(const uint8_t* in, uint32_t count, Segment* segments);
inline constexpr uint32_t kSegmentBytes = 16;

// The reply slot of kClear: a count, then segments. Of kAtomicDone: eight bytes, the value before.
inline constexpr uint32_t kClearHeaderBytes = 16;
static_assert(kHeaderBytes + kMaxSegments * kSegmentBytes <= kReplyBytes, "requests are staged in reply-sized buffers");
static_assert(kClearHeaderBytes + kMaxSegments * kSegmentBytes <= kReplyBytes);
static_assert(kWindow * 4 < kNumberMask, "numbers are told apart by their low bits");

void put64(uint8_t* out, uint64_t value);
uint64_t get64(const uint8_t* in);
void put32(uint8_t* out, uint32_t value);
uint32_t get32(const uint8_t* in);

}  // namespace mrc::shim
