// Set-up on the wire: the handle that NCCL carries from listener to connector, and the one message that each side sends
// over TCP. Both are plain structures of fixed size in the byte order of x86-64, the only architecture supported.
//
//   connector                             acceptor
//   TCP connect                   ->
//   SetupMessage (makes its QPs)  ->      checks magic, version and cookie, makes its QPs, takes them to RTS
//                                 <-      SetupMessage
//   takes its QPs to RTS
//   one byte: ready               ->
//
// The socket stays open without traffic afterwards: its end signals that the peer's process has ended.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device.h"
#include "interfaces.h"

namespace mrc::nccl {

inline constexpr uint32_t kHandleMagic = 0x4d52434c;  // "LCRM" in memory
inline constexpr uint32_t kSetupMagic = 0x4d524348;
inline constexpr uint16_t kSetupVersion = 2;  // of handle, SetupMessage and data protocol together
inline constexpr int kMaxLanes = 128;
inline constexpr int kMaxTrafficClass = 255;  // a byte of the IP header
inline constexpr uint8_t kReadyByte = 0x52;

struct Handle {
  uint32_t magic;
  uint16_t version;
  uint16_t members;  // devices of the listener
  uint64_t cookie;   // unknown to other programs
  SocketAddress address;
  uint32_t unused;
  uint64_t attempt;  // 0, then the number of the connector's attempt: its state between calls of connect
};
static_assert(sizeof(Handle) <= NCCL_NET_HANDLE_MAXSIZE && std::is_trivially_copyable_v<Handle>);

enum class Role : uint8_t { kSender = 1, kReceiver = 2 };

struct MemberInfo {
  uint8_t gid[16];
  uint32_t key;  // of the control memory, for writes that arrive at this device
  uint8_t mtu;   // enum ibv_mtu
  uint8_t unused[3];
};

struct LaneInfo {
  uint32_t qpn;
  uint32_t psn;
  uint8_t member;
  uint8_t unused[3];
};

struct SetupMessage {
  uint32_t magic;
  uint16_t version;
  Role role;
  uint8_t members;
  uint64_t cookie;
  uint64_t control_addr;  // sender: its FIFO; receiver: its size records (protocol.h)
  uint32_t split_bytes;   // 0: messages are not split. Chosen by the sender
  uint16_t lanes;
  uint16_t traffic_class;  // of both directions. Chosen by the sender: up to ABI version 10 only it gets NCCL's
  MemberInfo member[kMaxMembers];
  LaneInfo lane[kMaxLanes];
};
static_assert(sizeof(SetupMessage) == 32 + kMaxMembers * 24 + kMaxLanes * 12 &&
              std::is_trivially_copyable_v<SetupMessage>);

// Null, or the fault of a SetupMessage from `role`. The acceptor checks the cookie.
const char* setup_fault(const SetupMessage& message, Role role);

}  // namespace mrc::nccl
