#include "wire/opcodes.h"

namespace mrc::wire {

const char* opcode_name(Opcode op) {
  switch (op) {
    case Opcode::kWriteFirst:
      return "WRITE_FIRST";
    case Opcode::kWriteMiddle:
      return "WRITE_MIDDLE";
    case Opcode::kWriteLast:
      return "WRITE_LAST";
    case Opcode::kWriteLastImm:
      return "WRITE_LAST_IMM";
    case Opcode::kWriteOnly:
      return "WRITE_ONLY";
    case Opcode::kWriteOnlyImm:
      return "WRITE_ONLY_IMM";
    case Opcode::kAck:
      return "ACK";
    case Opcode::kEndpointRequest:
      return "ENDPOINT_REQUEST";
    case Opcode::kEndpointResponse:
      return "ENDPOINT_RESPONSE";
    case Opcode::kPlaneRequest:
      return "PLANE_REQUEST";
    case Opcode::kPlaneResponse:
      return "PLANE_RESPONSE";
    case Opcode::kSack:
      return "SACK";
    case Opcode::kNack:
      return "NACK";
    case Opcode::kProbe:
      return "PROBE";
  }
  return "UNKNOWN";
}

}  // namespace mrc::wire
