// The twelve opcodes of MRC, the two of our extension and the two datagrams of RoCEv2 [MRC-BTH-1, MRC-EXT-1, MRC-UD-1,
// spec/wire.md]. The headers that each implies: wire/layout.h.
#pragma once

#include <cstdint>

#include "wire/fields.h"

namespace mrc::wire {

// D(enumerator, code, "NAME"): datagrams. R(...): request packets, whose codes are contiguous. C(...): control packets.
#define MRC_OPCODES(D, R, C)                                          \
  D(kDatagram, 0x64, "DATAGRAM")        /* UD SEND Only of RoCEv2 */  \
  D(kDatagramImm, 0x65, "DATAGRAM_IMM") /* the same with immediate */ \
  R(kWriteFirst, 0xC6, "WRITE_FIRST")                                 \
  R(kWriteMiddle, 0xC7, "WRITE_MIDDLE")                               \
  R(kWriteLast, 0xC8, "WRITE_LAST")                                   \
  R(kWriteLastImm, 0xC9, "WRITE_LAST_IMM")                            \
  R(kWriteOnly, 0xCA, "WRITE_ONLY")                                   \
  R(kWriteOnlyImm, 0xCB, "WRITE_ONLY_IMM")                            \
  C(kAck, 0xD1, "ACK")                                                \
  C(kEndpointRequest, 0xD8, "ENDPOINT_REQUEST")                       \
  C(kEndpointResponse, 0xD9, "ENDPOINT_RESPONSE")                     \
  C(kPlaneRequest, 0xDA, "PLANE_REQUEST")   /* extension */           \
  C(kPlaneResponse, 0xDB, "PLANE_RESPONSE") /* extension */           \
  C(kSack, 0xDC, "SACK")                                              \
  C(kNack, 0xDD, "NACK")                                              \
  C(kProbe, 0xDE, "PROBE")
#define MRC_OPCODE_ENUMERATOR(enumerator, code, name) enumerator = code,
enum class Opcode : uint8_t { MRC_OPCODES(MRC_OPCODE_ENUMERATOR, MRC_OPCODE_ENUMERATOR, MRC_OPCODE_ENUMERATOR) };
#undef MRC_OPCODE_ENUMERATOR

constexpr bool is_request(Opcode op) {
  return op >= Opcode::kWriteFirst && op <= Opcode::kWriteOnlyImm;
}
constexpr bool is_datagram(Opcode op) {
  return op == Opcode::kDatagram || op == Opcode::kDatagramImm;
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
  return op == Opcode::kWriteLastImm || op == Opcode::kWriteOnlyImm || op == Opcode::kDatagramImm;
}
constexpr bool is_control(Opcode op) {
#define MRC_OPCODE_NONE(enumerator, code, name)
#define MRC_OPCODE_EQUAL(enumerator, code, name) || op == Opcode::enumerator
  return false MRC_OPCODES(MRC_OPCODE_NONE, MRC_OPCODE_NONE, MRC_OPCODE_EQUAL);
#undef MRC_OPCODE_NONE
#undef MRC_OPCODE_EQUAL
}
constexpr bool is_known(Opcode op) {
  return is_request(op) || is_control(op) || is_datagram(op);
}

// Endpoint operations, ours for planes among them: to QPN 2 [MRC-BTH-5].
constexpr bool is_endpoint_operation(Opcode op) {
  return op >= Opcode::kEndpointRequest && op <= Opcode::kPlaneResponse;
}

#define MRC_OPCODE_NAME(enumerator, code, name) name_value(Opcode::enumerator, name),
inline constexpr ValueName kOpcodeList[] = {MRC_OPCODES(MRC_OPCODE_NAME, MRC_OPCODE_NAME, MRC_OPCODE_NAME)};
#undef MRC_OPCODE_NAME
inline constexpr ValueNames kOpcodeNames{"OPCODE_NAMES", kOpcodeList, "UNKNOWN"};

constexpr const char* opcode_name(Opcode op) {
  return kOpcodeNames.name_of(static_cast<uint64_t>(op));
}

}  // namespace mrc::wire
