// Trace events, each declared once: name and what its two numbers mean. A test recorder, mrclog and the determinism
// test read the same stream. Events carry the QPN (0 for the endpoint), and never pointers.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace mrc::core {

#define MRC_TRACE_EVENTS(X)                                       \
  X(kTxData, "request packet sent", "psn", "ev")                  \
  X(kRetransmit, "request packet sent again", "psn", "ev")        \
  X(kRxData, "request packet placed", "psn", "ev")                \
  X(kDuplicate, "request packet had arrived before", "psn", "ev") \
  X(kTxSack, "SACK sent", "cack", "bitmap")                       \
  X(kRxSack, "SACK received", "cack", "bitmap")                   \
  X(kTxAck, "transport ACK sent", "psn", "syndrome")              \
  X(kRxAck, "transport ACK received", "psn", "syndrome")          \
  X(kTxNack, "NACK sent", "psn", "reason")                        \
  X(kRxNack, "NACK received", "psn", "reason")                    \
  X(kTxProbe, "reliability probe sent", "probe_id", "ev")         \
  X(kRxProbe, "reliability probe received", "probe_id", "ev")     \
  X(kLost, "packet inferred lost", "psn", "ev")                   \
  X(kTimeout, "packet timed out", "psn", "attempt")               \
  X(kEvState, "EV changed state", "ev", "state")                  \
  X(kPlane, "plane suspended or resumed", "plane", "up")          \
  X(kCwnd, "congestion window", "cwnd", "inflight")               \
  X(kComplete, "work request completed", "wr_id", "status")       \
  X(kQpState, "QP changed state", "state", "cause")               \
  X(kDrop, "packet dropped", "reason", "psn")

enum class TraceEvent : uint8_t {
#define MRC_TRACE_ENUM(name, sentence, a, b) name,
  MRC_TRACE_EVENTS(MRC_TRACE_ENUM)
#undef MRC_TRACE_ENUM
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_trace(Instant now, uint32_t qpn, TraceEvent event, uint64_t a, uint64_t b) = 0;
};

}  // namespace mrc::core
