// The twelve opcodes of MRC, the two of our extension, and what each implies about the packet [MRC-BTH-1, MRC-EXT-1,
// spec/wire.md].
#pragma once

#include <cstdint>

namespace mrc::wire {

enum class Opcode : uint8_t {
  kWriteFirst = 0xC6,
  kWriteMiddle = 0xC7,
  kWriteLast = 0xC8,
  kWriteLastImm = 0xC9,
  kWriteOnly = 0xCA,
  kWriteOnlyImm = 0xCB,
  kAck = 0xD1,
  kEndpointRequest = 0xD8,
  kEndpointResponse = 0xD9,
  kPlaneRequest = 0xDA,   // extension
  kPlaneResponse = 0xDB,  // extension
  kSack = 0xDC,
  kNack = 0xDD,
  kProbe = 0xDE,
};

constexpr bool is_request(Opcode op) {
  return op >= Opcode::kWriteFirst && op <= Opcode::kWriteOnlyImm;
}
constexpr bool is_last(Opcode op) {
  return op == Opcode::kWriteLast || op == Opcode::kWriteLastImm;
}
constexpr bool is_only(Opcode op) {
  return op == Opcode::kWriteOnly || op == Opcode::kWriteOnlyImm;
}
// First packet of a message: First or Only.
constexpr bool begins_message(Opcode op) {
  return op == Opcode::kWriteFirst || is_only(op);
}
// Final packet of a message: Last or Only.
constexpr bool ends_message(Opcode op) {
  return is_last(op) || is_only(op);
}
constexpr bool with_imm(Opcode op) {
  return op == Opcode::kWriteLastImm || op == Opcode::kWriteOnlyImm;
}
constexpr bool is_control(Opcode op) {
  return op == Opcode::kAck || op == Opcode::kEndpointRequest || op == Opcode::kEndpointResponse ||
         op == Opcode::kPlaneRequest || op == Opcode::kPlaneResponse || op == Opcode::kSack || op == Opcode::kNack ||
         op == Opcode::kProbe;
}
constexpr bool is_known(Opcode op) {
  return is_request(op) || is_control(op);
}

// Bytes of all headers, BTH included, without payload, pad and ICRC; 0 for an unknown opcode. `ts` (BTH.ts) counts on
// requests only [MRC-BTH-6].
constexpr uint32_t header_bytes(Opcode op, bool ts) {
  switch (op) {
    case Opcode::kWriteFirst:
    case Opcode::kWriteMiddle:
    case Opcode::kWriteLast:
    case Opcode::kWriteOnly:
      return 12 + 4 + (ts ? 4u : 0u) + 16;
    case Opcode::kWriteLastImm:
    case Opcode::kWriteOnlyImm:
      return 12 + 4 + (ts ? 4u : 0u) + 16 + 4;
    case Opcode::kAck:
      return 12 + 4;
    case Opcode::kEndpointRequest:
    case Opcode::kProbe:
      return 12 + 16;
    case Opcode::kEndpointResponse:
    case Opcode::kPlaneRequest:
    case Opcode::kPlaneResponse:
    case Opcode::kSack:
      return 12 + 36;
    case Opcode::kNack:
      return 12 + 20;
  }
  return 0;
}

constexpr uint32_t kMaxHeaderBytes = 48;
static_assert(header_bytes(Opcode::kWriteOnlyImm, true) <= kMaxHeaderBytes);
static_assert(header_bytes(Opcode::kSack, false) == kMaxHeaderBytes);

const char* opcode_name(Opcode op);  // "WRITE_ONLY" and so on; "UNKNOWN" otherwise

}  // namespace mrc::wire
