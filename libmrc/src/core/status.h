// EvStatus and QpStatus: what tools are shown of the EVs towards a peer and of a QP, and the states of an EV.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/planes.h"
#include "base/time.h"
#include "core/types.h"

namespace mrc::core {

// State of an EV towards one peer, as shown to tools.
enum class EvState : uint8_t { kGood, kSkip, kAssumedBad, kDenied };

struct EvStatus {
  uint32_t value = 0;
  PlaneId plane;
  bool active = false;
  EvState state = EvState::kGood;
  uint64_t tx_packets = 0;
  uint64_t losses = 0;
  uint64_t ecn_marks = 0;
  uint64_t tx_bytes = 0;  // UDP payload of its data packets
  Duration rtt;           // smoothed; 0: no sample yet
};

// Gauges and counters of one QP, each with its type. `inflight`: bytes in flight as congestion control counts them,
// never below 0, and 0 when no packet is in flight [MRC-CNT-4].
#define MRC_QP_VALUES(X)           \
  X(int64_t, cwnd)                 \
  X(int64_t, inflight)             \
  X(Duration, srtt)                \
  X(Duration, base_rtt)            \
  X(uint32_t, outstanding_packets) \
  X(uint64_t, tx_packets)          \
  X(uint64_t, rx_packets)          \
  X(uint64_t, retransmits)         \
  X(uint64_t, timeouts)

struct QpStatus {
  Qpn qpn;
  Qpn dest_qpn;
  QpState state = QpState::kReset;
  PeerId peer = kNoPeer;
#define MRC_QP_FIELD(type, name) type name{};
  MRC_QP_VALUES(MRC_QP_FIELD)
#undef MRC_QP_FIELD
};

}  // namespace mrc::core
