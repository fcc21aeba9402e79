// CongestionControl: the limit of one QP's bytes in flight, over all paths and planes together [MRC-CC-10..15,
// spec/congestion.md]. One object per QP, made when the QP goes to RTS and used by the one thread that drives the QP.
// Sans-IO: time is an argument of each event. No event allocates. All sizes are nominal packet sizes in bytes (UDP
// length + 40).
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace mrc::core {

// A SACK with CC_STATE. `rtt` is the round trip of the packet that caused it, without the responder's ACK delay; empty
// when it is not certain which copy was answered [MRC-LOSS-6].
struct AckSample {
  uint32_t rcvd_bytes_24 = 0;  // the receiver's count in units of 256 bytes, modulo 2^24 [MRC-CC-3]
  uint32_t nominal = 0;        // of the packet that caused the SACK; 0: unknown
  std::optional<Duration> rtt;
  bool ecn_marked = false;
  uint8_t rcv_cwnd_pen = 0;  // 0 (none) to 127 [MRC-CC-2]
  bool restore_cwnd = false;
  bool may_lower_base = true;  // false: of a short packet or of one sent twice; its delay counts, the base RTT does not
};

struct NackSample {
  uint32_t nominal = 0;
  std::optional<Duration> rtt;
  bool trimmed = false;  // false: refused by the responder, which carries no information about the path
  bool may_lower_base = false;
};

enum class LossCause : uint8_t { kOvertaken, kTimedOut };

struct CongestionSnapshot {
  int64_t cwnd = 0;
  int64_t inflight = 0;  // can be below 0 by less than 256: the receiver's count is rounded up
  int64_t max_wnd = 0;
  Duration base_rtt;
  uint16_t steps = 0;  // WindowStep of the last event
};

// Effects of the last event, one bit each, for traces and tests. Names: core/trace_text.cc.
enum WindowStep : uint16_t {
  kStepProportional = 1 << 0,
  kStepFast = 1 << 1,
  kStepFair = 1 << 2,  // additive increase
  kStepNoOp = 1 << 3,  // marked, but below the target delay
  kStepDecreaseAsked = 1 << 4,
  kStepDecreaseCut = 1 << 5,
  kStepFulfil = 1 << 6,
  kStepEta = 1 << 7,
  kStepTrimCut = 1 << 8,
  kStepQuickAdapt = 1 << 9,
  kStepIgnored = 1 << 10,
  kStepPenalty = 1 << 11,
  kStepRestore = 1 << 12,
  kStepNoSample = 1 << 13,
  kStepLossCut = 1 << 14,
};

class CongestionControl {
 public:
  virtual ~CongestionControl() = default;

  // A packet was sent, the first time or again.
  virtual void on_sent(uint32_t nominal) = 0;
  virtual void on_ack(Instant now, const AckSample& sample) = 0;
  // The peer did not accept a packet; it is retransmitted.
  virtual void on_nack(Instant now, const NackSample& sample) = 0;
  // One packet counts as lost and is no longer in flight.
  virtual void on_loss(Instant now, uint32_t nominal, LossCause cause) = 0;
  // A packet declared lost, and not retransmitted since, proves to have arrived: rcvd_bytes removes it a second time.
  virtual void on_lost_packet_acked(uint32_t nominal) = 0;
  // Line rate and unloaded RTT (zero: as before) have been measured [MRC-NSCC-26].
  virtual void on_measured(double line_rate_bps, Duration base_rtt) = 0;
  // The window is at most that many bytes now, but not less than a few packets; it may grow again.
  virtual void limit(int64_t window) = 0;

  // The requester sends one packet without this check when nothing is in flight.
  virtual bool can_send(uint32_t nominal) const = 0;
  // Whether to request an immediate ACK with the next packet; called before on_sent().
  virtual bool requests_ack(uint32_t nominal) const = 0;
  virtual CongestionSnapshot snapshot() const = 0;
};

// Bytes that arrived since the last ACK, from the receiver's cumulative count; `last` is the largest count so far. An
// older ACK that was overtaken brings none [MRC-CC-3] [MRC-NSCC-13].
inline int64_t advance_rcvd_bytes(uint32_t rcvd_bytes_24, uint32_t* last) {
  constexpr uint32_t kMask = 0xFFFFFF;
  constexpr uint32_t kHalf = 0x800000;
  constexpr int64_t kUnit = 256;
  const uint32_t ahead = (rcvd_bytes_24 - *last) & kMask;
  if (ahead >= kHalf) return 0;
  *last = rcvd_bytes_24 & kMask;
  return ahead * kUnit;
}

}  // namespace mrc::core
