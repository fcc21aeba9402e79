// The twelve opcodes of MRC and the two of our extension [MRC-BTH-1, MRC-EXT-1, spec/wire.md]. The headers that each
// implies: wire/layout.h.
#pragma once

#include <cstdint>

#include "wire/fields.h"

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

// Endpoint operations, ours for planes among them: to QPN 2 [MRC-BTH-5].
constexpr bool is_endpoint_operation(Opcode op) {
  return op >= Opcode::kEndpointRequest && op <= Opcode::kPlaneResponse;
}

inline constexpr ValueName kOpcodeList[] = {name_value(Opcode::kWriteFirst, "WRITE_FIRST"),
                                            name_value(Opcode::kWriteMiddle, "WRITE_MIDDLE"),
                                            name_value(Opcode::kWriteLast, "WRITE_LAST"),
                                            name_value(Opcode::kWriteLastImm, "WRITE_LAST_IMM"),
                                            name_value(Opcode::kWriteOnly, "WRITE_ONLY"),
                                            name_value(Opcode::kWriteOnlyImm, "WRITE_ONLY_IMM"),
                                            name_value(Opcode::kAck, "ACK"),
                                            name_value(Opcode::kEndpointRequest, "ENDPOINT_REQUEST"),
                                            name_value(Opcode::kEndpointResponse, "ENDPOINT_RESPONSE"),
                                            name_value(Opcode::kPlaneRequest, "PLANE_REQUEST"),
                                            name_value(Opcode::kPlaneResponse, "PLANE_RESPONSE"),
                                            name_value(Opcode::kSack, "SACK"),
                                            name_value(Opcode::kNack, "NACK"),
                                            name_value(Opcode::kProbe, "PROBE")};
inline constexpr ValueNames kOpcodeNames{"OPCODE_NAMES", kOpcodeList, "UNKNOWN"};

constexpr const char* opcode_name(Opcode op) {
  return kOpcodeNames.name_of(static_cast<uint64_t>(op));
}

}  // namespace mrc::wire
