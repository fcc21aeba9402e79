// Trace events and their triggers, each declared once. MRC_TRACE_EVENTS makes a struct with named fields of each
// event (event::TxData and so on), the enumerators, the text (trace_text.h), what tests and the simulator read back
// (TraceEntry::get), and the counter of an event. The test recorder, the simulator, the device's trace file
// (mrclog reads it) and the determinism test get the same stream. Events carry the QPN (0 for the endpoint), and never
// pointers. With no sink an event costs its counter and one branch.
//
// The type of a field determines its text: Psn and unsigned integers as numbers, Duration as nanoseconds, bool as true
// or false, enumerations by name, Hex, DropReason and WindowSteps as in their comments.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "base/ids.h"
#include "base/psn.h"
#include "base/time.h"
#include "core/counters.h"
#include "core/types.h"
#include "wire/neth.h"

namespace mrc::wire {
enum class DecodeError : uint8_t;
}

namespace mrc::core {

enum class EvState : uint8_t;

struct Hex {  // shown in hexadecimal
  uint64_t value = 0;
  constexpr Hex() = default;
  constexpr Hex(uint64_t v) : value(v) {}
  friend bool operator==(Hex, Hex) = default;
};
struct DropReason {  // a DecodeError with the trigger kUndecodable, a NackReason otherwise
  uint64_t value = 0;
  constexpr DropReason() = default;
  constexpr DropReason(wire::DecodeError e) : value(static_cast<uint64_t>(e)) {}
  constexpr DropReason(wire::NackReason r) : value(static_cast<uint64_t>(r)) {}
  friend bool operator==(DropReason, DropReason) = default;
};
struct WindowSteps {  // bits of WindowStep (core/congestion/control.h)
  uint32_t value = 0;
  friend bool operator==(WindowSteps, WindowSteps) = default;
};

// clang-format off
// X(Name, name, sentence, counter or nullptr, (type, field)...): one to four fields
#define MRC_TRACE_EVENTS(X)                                                                                            \
  X(EvChosen, "ev_chosen", "path chosen for a burst", nullptr,                                                         \
    (uint32_t, ev), (PlaneId, plane), (uint32_t, passed_skipped), (uint32_t, passed_full))                             \
  X(TxData, "packet_sent", "request packet sent", nullptr,                                                             \
    (Psn, psn), (uint32_t, ev), (PlaneId, plane), (uint32_t, size))                                                    \
  X(Retransmit, "packet_retransmitted", "request packet retransmitted", nullptr,                                          \
    (Psn, psn), (uint32_t, ev), (PlaneId, plane), (uint32_t, transmission))                                            \
  X(RxData, "packet_received", "request packet placed", &Counters::rx_data,                                            \
    (Psn, psn), (uint32_t, ev), (uint32_t, size))                                                                      \
  X(Duplicate, "duplicate_received", "request packet had arrived before", &Counters::rx_duplicates,                    \
    (Psn, psn), (uint32_t, ev), (uint32_t, size))                                                                      \
  X(TxSack, "sack_sent", "SACK sent", &Counters::tx_sacks, (Psn, cack), (Psn, base))                                   \
  X(RxSack, "sack_received", "SACK received", nullptr, (Psn, cack), (Hex, bitmap), (Psn, base), (uint32_t, ev))        \
  X(TxAck, "ack_sent", "transport ACK sent", &Counters::tx_acks, (Psn, psn), (Hex, syndrome))                          \
  X(RxAck, "ack_received", "transport ACK received", nullptr, (Psn, psn), (Hex, syndrome))                             \
  X(TxNack, "nack_sent", "NACK sent", &Counters::tx_nacks, (Psn, psn), (wire::NackReason, reason), (uint32_t, ev))     \
  X(RxNack, "nack_received", "NACK received", nullptr, (Psn, psn), (wire::NackReason, reason), (uint32_t, ev))         \
  X(TxProbe, "probe_sent", "reliability probe sent", &Counters::tx_probes,                                             \
    (uint16_t, probe_id), (uint32_t, ev), (PlaneId, plane), (uint32_t, backoff))                                       \
  X(RxProbe, "probe_received", "reliability probe received", nullptr, (uint16_t, probe_id), (uint32_t, ev))            \
  X(Lost, "packet_lost", "packet inferred lost", nullptr,                                                              \
    (Psn, psn), (uint32_t, ev), (PlaneId, plane), (Duration, age))                                                     \
  X(Timeout, "packet_timed_out", "packet timed out", &Counters::timeouts,                                              \
    (Psn, psn), (uint32_t, attempt), (uint32_t, ev), (Duration, age))                                                  \
  X(EvState, "ev_state_changed", "EV changed state", nullptr,                                                          \
    (uint32_t, ev), (core::EvState, state), (PlaneId, plane), (uint64_t, losses))                                      \
  X(Plane, "plane_changed", "plane suspended or resumed", nullptr, (PlaneId, plane), (uint8_t, up))                    \
  X(PathMtu, "path_mtu_found", "full packets do not pass a plane", nullptr,                                            \
    (PlaneId, plane), (uint32_t, carries), (uint32_t, wanted))                                                         \
  X(Cwnd, "cwnd_updated", "congestion window", nullptr,                                                                \
    (uint64_t, cwnd), (int64_t, inflight), (Duration, rtt), (WindowSteps, branches))                                   \
  X(Complete, "work_completed", "work request completed", nullptr,                                                     \
    (uint64_t, wr_id), (core::WcStatus, status), (uint32_t, bytes), (bool, receive))                                   \
  X(QpState, "qp_state_changed", "QP changed state", nullptr, (core::QpState, state), (core::WcStatus, cause))         \
  X(Drop, "packet_dropped", "packet dropped", nullptr, (DropReason, reason), (Psn, psn))

// X(enumerator, name, sentence)
#define MRC_TRACE_TRIGGERS(X)                                                                    \
  X(kNone, "", "")                                                                               \
  X(kTurn, "turn", "next path in the rotation")                                                 \
  X(kSkipped, "others_skipped", "earlier paths in the rotation had been marked or trimmed, or are unproven")      \
  X(kFull, "others_full", "the planes of other paths were full")                                             \
  X(kAllSkipped, "all_skipped", "all paths at turn were marked to be skipped")               \
  X(kOvertaken, "overtaken", "a packet sent a reordering window later has arrived")              \
  X(kTrimmed, "trimmed", "a switch trimmed the packet")                                          \
  X(kRejected, "rejected", "the responder refused the packet")                                   \
  X(kTimedOut, "timeout", "no answer within the packet timeout")                                 \
  X(kSilence, "silence", "nothing was received for a while")                                        \
  X(kStandstill, "standstill", "acknowledged data, unfinished work and no answer to the probe")  \
  X(kSack, "sack", "a SACK without a mark")                                                      \
  X(kMarked, "marked", "a SACK of a packet that was marked CE")                                  \
  X(kLosses, "losses", "losses of different send times without a delivery between them")         \
  X(kPeerVerdict, "peer_verdict", "the responder reported the path as bad")                     \
  X(kOtherEngine, "other_engine", "another engine of the device found the path bad")            \
  X(kPlaneSuspended, "plane_suspended", "the plane of the path was retired")           \
  X(kProbeAnswered, "probe_answered", "a probe over the path was answered")                      \
  X(kOperator, "operator", "denied or allowed by the controller")                                \
  X(kPortStatus, "port_status", "the peer reports its ports")                                    \
  X(kLocalPort, "local_port", "a port of this host went up or down")                             \
  X(kLearnt, "learnt", "the peer announced its planes")                                               \
  X(kUndecodable, "undecodable", "the packet is malformed")                                      \
  X(kIcrc, "icrc", "the ICRC is wrong")                                                          \
  X(kSourcePort, "source_port", "the peer has not announced the source port")                    \
  X(kOutside, "outside_window", "the PSN is outside the window")                                 \
  X(kRefused, "refused", "the packet's key, range or form is not allowed")                        \
  X(kMemoryGone, "memory_gone", "registered memory cannot be accessed any more")                   \
  X(kMisfit, "misfit", "the packet does not fit the message that it claims to belong to")        \
  X(kContradicted, "contradicted", "two packets contradict each other: one of them was forged")     \
  X(kApplication, "application", "requested by the application")                                 \
  X(kFatal, "fatal", "an error that fails the queue pair")
// clang-format on

// Calls m(type, field) for each of one to four (type, field).
#define MRC_FIELDS_1(m, f) m f
#define MRC_FIELDS_2(m, f, ...) m f MRC_FIELDS_1(m, __VA_ARGS__)
#define MRC_FIELDS_3(m, f, ...) m f MRC_FIELDS_2(m, __VA_ARGS__)
#define MRC_FIELDS_4(m, f, ...) m f MRC_FIELDS_3(m, __VA_ARGS__)
#define MRC_FIELDS_COUNTED(_1, _2, _3, _4, name, ...) name
#define MRC_FIELDS(m, ...) \
  MRC_FIELDS_COUNTED(__VA_ARGS__, MRC_FIELDS_4, MRC_FIELDS_3, MRC_FIELDS_2, MRC_FIELDS_1)(m, __VA_ARGS__)

enum class TraceEvent : uint8_t {
#define MRC_TRACE_ENUM(name, ...) k##name,
  MRC_TRACE_EVENTS(MRC_TRACE_ENUM)
#undef MRC_TRACE_ENUM
};

enum class TraceTrigger : uint8_t {
#define MRC_TRACE_ENUM(name, ...) name,
  MRC_TRACE_TRIGGERS(MRC_TRACE_ENUM)
#undef MRC_TRACE_ENUM
};

// The events: event::TxData{.psn = ..., .ev = ...}.
namespace event {

using CounterOf = uint64_t Counters::*;

#define MRC_TRACE_MEMBER(type, field) type field{};
#define MRC_TRACE_VISIT(type, field) visit(#field, field);
#define MRC_TRACE_STRUCT(Name, name, sentence, counter, ...)    \
  struct Name {                                                 \
    static constexpr TraceEvent kEvent = TraceEvent::k##Name;   \
    static constexpr CounterOf kCounter = counter;              \
    MRC_FIELDS(MRC_TRACE_MEMBER, __VA_ARGS__)                   \
    template <typename Visit>                                   \
    constexpr void for_each(Visit visit) {                      \
      MRC_FIELDS(MRC_TRACE_VISIT, __VA_ARGS__)                  \
    }                                                           \
    friend bool operator==(const Name&, const Name&) = default; \
  };
MRC_TRACE_EVENTS(MRC_TRACE_STRUCT)
#undef MRC_TRACE_STRUCT
#undef MRC_TRACE_VISIT
#undef MRC_TRACE_MEMBER

// The counter of dropped packets is that of the reason; nullptr: none.
constexpr CounterOf drop_counter(TraceTrigger why) {
  switch (why) {
    case TraceTrigger::kUndecodable:
      return &Counters::drop_decode;
    case TraceTrigger::kIcrc:
      return &Counters::drop_icrc;
    case TraceTrigger::kSourcePort:
      return &Counters::drop_source_port;
    case TraceTrigger::kOutside:
      return &Counters::drop_window;
    case TraceTrigger::kRefused:
      return &Counters::drop_access;
    case TraceTrigger::kMemoryGone:
      return &Counters::drop_memory_gone;
    case TraceTrigger::kMisfit:
      return &Counters::drop_misfit;
    case TraceTrigger::kContradicted:
      return &Counters::contradictions;
    default:
      return nullptr;
  }
}

}  // namespace event

// Fields as the numbers that rings and files carry.
template <typename T>
constexpr uint64_t trace_number(const T& v) {
  if constexpr (std::is_same_v<T, Psn> || kIsStrongId<T>)
    return v.value();
  else if constexpr (std::is_same_v<T, Duration>)
    return static_cast<uint64_t>(v.ns());
  else if constexpr (std::is_class_v<T>)
    return v.value;
  else
    return static_cast<uint64_t>(v);
}
template <typename T>
constexpr void set_from_trace_number(uint64_t number, T* v) {
  if constexpr (std::is_same_v<T, Psn>)
    *v = Psn(static_cast<uint32_t>(number));
  else if constexpr (kIsStrongId<T>)
    *v = T(static_cast<typename T::integer>(number));
  else if constexpr (std::is_same_v<T, Duration>)
    *v = Duration::nanoseconds(static_cast<int64_t>(number));
  else if constexpr (std::is_class_v<T>)
    v->value = static_cast<decltype(v->value)>(number);
  else
    *v = static_cast<T>(number);
}

// An event as recorded: its fields in their order.
struct TraceEntry {
  Instant at;
  std::array<uint64_t, 4> numbers{};
  Qpn qpn;
  TraceEvent event = TraceEvent::kTxData;
  TraceTrigger trigger = TraceTrigger::kNone;

  template <typename Event>
  static TraceEntry of(Instant at, Qpn qpn, TraceTrigger trigger, Event e) {
    TraceEntry entry{at, {}, qpn, Event::kEvent, trigger};
    size_t i = 0;
    e.for_each([&](const char*, const auto& v) { entry.numbers[i++] = trace_number(v); });
    return entry;
  }
  // The event again; nothing when it is another one.
  template <typename Event>
  std::optional<Event> get() const {
    if (event != Event::kEvent) return std::nullopt;
    Event e;
    size_t i = 0;
    e.for_each([&](const char*, auto& v) { set_from_trace_number(numbers[i++], &v); });
    return e;
  }
  friend bool operator==(const TraceEntry&, const TraceEntry&) = default;
};
static_assert(sizeof(TraceEntry) == 48, "the size of a trace ring's element");

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_trace(const TraceEntry& entry) = 0;
};

}  // namespace mrc::core
