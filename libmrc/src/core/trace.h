// Trace events and what triggers them, each declared once: name, sentence and what the four numbers mean. Test
// recorder, simulator, the device's trace file (mrclog reads it) and the determinism test read the same stream. Events
// carry the QPN (0 for the endpoint), and never pointers. With no sink an event costs one branch.
//
// A number's name may be followed by how it reads: ":hex", ":ns" (a time), ":signed", ":ev_state", ":qp_state",
// ":wc_status", ":reason" (DecodeError when the trigger is undecodable, NackReason otherwise), ":branches" (WindowStep
// bits), ":yes_no".
#pragma once

#include <cstdint>

#include "base/time.h"

namespace mrc::core {

// clang-format off
// X(enumerator, name, sentence, a, b, c, d)
#define MRC_TRACE_EVENTS(X)                                                                                             \
  X(kEvChosen, "ev_chosen", "path chosen for a burst", "ev", "plane", "passed_skipped", "passed_full")                  \
  X(kTxData, "packet_sent", "request packet sent", "psn", "ev", "plane", "size")                                        \
  X(kRetransmit, "packet_retransmitted", "request packet sent again", "psn", "ev", "plane", "transmission")             \
  X(kRxData, "packet_received", "request packet placed", "psn", "ev", "size", "")                                       \
  X(kDuplicate, "duplicate_received", "request packet had arrived before", "psn", "ev", "size", "")                     \
  X(kTxSack, "sack_sent", "SACK sent", "cack", "base", "", "")                                                          \
  X(kRxSack, "sack_received", "SACK received", "cack", "bitmap:hex", "base", "ev")                                      \
  X(kTxAck, "ack_sent", "transport ACK sent", "psn", "syndrome:hex", "", "")                                            \
  X(kRxAck, "ack_received", "transport ACK received", "psn", "syndrome:hex", "", "")                                    \
  X(kTxNack, "nack_sent", "NACK sent", "psn", "reason:reason", "ev", "")                                                \
  X(kRxNack, "nack_received", "NACK received", "psn", "reason:reason", "ev", "")                                        \
  X(kTxProbe, "probe_sent", "reliability probe sent", "probe_id", "ev", "plane", "backoff")                             \
  X(kRxProbe, "probe_received", "reliability probe received", "probe_id", "ev", "", "")                                 \
  X(kLost, "packet_lost", "packet inferred lost", "psn", "ev", "plane", "age:ns")                                       \
  X(kTimeout, "packet_timed_out", "packet timed out", "psn", "attempt", "ev", "age:ns")                                 \
  X(kEvState, "ev_state_changed", "EV changed state", "ev", "state:ev_state", "plane", "losses")                        \
  X(kPlane, "plane_changed", "plane suspended or resumed", "plane", "up", "", "")                                       \
  X(kPathMtu, "path_mtu_found", "full packets do not pass a plane", "plane", "carries", "wanted", "")                   \
  X(kCwnd, "cwnd_updated", "congestion window", "cwnd", "inflight:signed", "rtt:ns", "branches:branches")               \
  X(kComplete, "work_completed", "work request completed", "wr_id", "status:wc_status", "bytes", "receive:yes_no")      \
  X(kQpState, "qp_state_changed", "QP changed state", "state:qp_state", "cause:wc_status", "", "")                      \
  X(kDrop, "packet_dropped", "packet dropped", "reason:reason", "psn", "", "")

// X(enumerator, name, sentence)
#define MRC_TRACE_TRIGGERS(X)                                                                    \
  X(kNone, "", "")                                                                               \
  X(kTurn, "turn", "the path's turn in the lap")                                                 \
  X(kSkipped, "others_skipped", "paths before it had been marked or trimmed")                    \
  X(kFull, "others_full", "the planes of paths before it had no room")                           \
  X(kAllSkipped, "all_skipped", "every path was to be skipped, so any is as good")               \
  X(kOvertaken, "overtaken", "a packet sent a reordering window later has arrived")              \
  X(kTrimmed, "trimmed", "a switch trimmed the packet")                                          \
  X(kRejected, "rejected", "the responder refused the packet")                                   \
  X(kTimedOut, "timeout", "no answer within the packet timeout")                                 \
  X(kSilence, "silence", "nothing was heard for a while")                                        \
  X(kStandstill, "standstill", "acknowledged data, unfinished work and no answer to the probe")  \
  X(kSack, "sack", "a SACK without a mark")                                                      \
  X(kMarked, "marked", "a SACK of a packet that was marked CE")                                  \
  X(kLosses, "losses", "losses of different send times without a delivery between them")         \
  X(kPeerVerdict, "peer_verdict", "the responder says that the path is bad")                     \
  X(kPlaneSuspended, "plane_suspended", "the plane that the path belongs to was left")           \
  X(kProbeAnswered, "probe_answered", "a probe over the path was answered")                      \
  X(kOperator, "operator", "denied or allowed by the controller")                                \
  X(kPortStatus, "port_status", "the peer reports its ports")                                    \
  X(kLocalPort, "local_port", "a port of this host went up or down")                             \
  X(kLearnt, "learnt", "the peer told its planes")                                               \
  X(kUndecodable, "undecodable", "the packet is malformed")                                      \
  X(kIcrc, "icrc", "the ICRC is wrong")                                                          \
  X(kSourcePort, "source_port", "the peer has not announced the source port")                    \
  X(kOutside, "outside_window", "the PSN is outside the window")                                 \
  X(kRefused, "refused", "the packet's key, range or form is not allowed")                        \
  X(kMisfit, "misfit", "the packet does not fit the message that it claims to belong to")        \
  X(kContradicted, "contradicted", "two packets exclude each other: one of them was forged")     \
  X(kApplication, "application", "asked for by the application")                                 \
  X(kFatal, "fatal", "an error that the queue pair does not survive")
// clang-format on

enum class TraceEvent : uint8_t {
#define MRC_TRACE_ENUM(name, ...) name,
  MRC_TRACE_EVENTS(MRC_TRACE_ENUM)
#undef MRC_TRACE_ENUM
};

enum class TraceTrigger : uint8_t {
#define MRC_TRACE_ENUM(name, ...) name,
  MRC_TRACE_TRIGGERS(MRC_TRACE_ENUM)
#undef MRC_TRACE_ENUM
};

struct TraceEntry {
  Instant at;
  uint64_t a = 0, b = 0, c = 0, d = 0;  // see MRC_TRACE_EVENTS
  uint32_t qpn = 0;
  TraceEvent event = TraceEvent::kTxData;
  TraceTrigger trigger = TraceTrigger::kNone;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_trace(const TraceEntry& entry) = 0;
};

}  // namespace mrc::core
