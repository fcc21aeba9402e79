// Trace entries as JSON, in the shape of qlog events: {"time":ms,"name":"mrc:...","data":{...,"trigger":"..."}}. Names
// and meaning of the numbers come from trace.h. Writes into the caller's memory and allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/trace.h"

namespace mrc::core {

enum class TraceKind : uint8_t {
  kNumber,
  kHex,
  kNs,
  kSigned,
  kEvState,
  kQpState,
  kWcStatus,
  kReason,
  kBranches,
  kYesNo
};

struct TraceField {
  const char* name = "";  // empty: the number is not used
  TraceKind kind = TraceKind::kNumber;
};

struct TraceEventInfo {
  const char* name = "";
  const char* sentence = "";
  TraceField fields[4];
};

inline constexpr uint32_t kTraceEvents = 0
#define MRC_TRACE_COUNT(...) +1
    MRC_TRACE_EVENTS(MRC_TRACE_COUNT);
inline constexpr uint32_t kTraceTriggers = 0 MRC_TRACE_TRIGGERS(MRC_TRACE_COUNT);
static_assert(kTraceTriggers <= 64, "TxRecord::lost_by has six bits");
#undef MRC_TRACE_COUNT

const TraceEventInfo& trace_event_info(TraceEvent event);
const char* trace_trigger_name(TraceTrigger trigger);
const char* trace_trigger_sentence(TraceTrigger trigger);

inline constexpr size_t kTraceJsonRoom = 1024;  // more than any entry needs

// The object without anything around it; returns its length. Time is milliseconds since the Instant's origin, with all
// nanoseconds. `out` has room for kTraceJsonRoom.
size_t write_trace_json(char* out, const TraceEntry& entry);
// The same for the event that represents `count` lost events.
size_t write_trace_lost_json(char* out, Instant at, uint64_t count);

}  // namespace mrc::core
