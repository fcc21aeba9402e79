// Types of datagram queue pairs (UD of RoCEv2): what is posted, and their attributes. [MRC-UD-1..10, spec/states.md]
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/psn.h"
#include "core/types.h"

namespace mrc::core {

class DatagramReceiveQueue;

// Zeros or an IP header before the data of every receive buffer, as verbs programs expect [MRC-UD-6].
inline constexpr uint32_t kGrhBytes = 40;
// A request with this bit in its Q_Key is sent with that of its QP [MRC-UD-5].
inline constexpr uint32_t kQkeyOfQp = 0x80000000;
// The destination of datagrams to a multicast group [MRC-UD-9].
inline constexpr Qpn kMulticastQpn = Qpn(0xFFFFFF);

struct DatagramQpInit {
  QpSink* sink = nullptr;  // outlives the QP
  Qpn qpn;
  uint32_t pd = 0;
  QpCaps caps;                              // those of the send queue count
  DatagramReceiveQueue* receive = nullptr;  // outlives the QP; other QPs may use it, too
};

struct DatagramAttr {
  uint32_t qkey = 0;
  uint32_t path_mtu = 4096;  // largest datagram, both ways
  Psn sq_psn;
  uint16_t pkey = 0xFFFF;
};

struct DatagramWr {
  uint64_t wr_id = 0;
  bool signaled = false;
  bool solicited = false;
  bool inline_data = false;
  bool with_imm = false;
  const Sge* sges = nullptr;
  uint32_t num_sge = 0;
  uint32_t imm = 0;       // 32 opaque bits in memory order
  PeerId peer = kNoPeer;  // of the destination's process, or of a multicast group
  Qpn dest_qpn;
  uint32_t qkey = 0;
  uint8_t traffic_class = 0;  // 0: the device's DSCP for packets that are not trimmed
};

}  // namespace mrc::core
