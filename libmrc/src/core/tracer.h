// Tracer: where the engine's parts report trace events. Without a sink an event costs one branch.
#pragma once

#include <cstdint>

#include "core/trace.h"

namespace mrc::core {

class Tracer {
 public:
  explicit Tracer(TraceSink* sink) : sink_(sink) {}
  // `qpn` is 0 for events of the endpoint; the meaning of a to d is in MRC_TRACE_EVENTS.
  void operator()(Instant now, uint32_t qpn, TraceEvent e, TraceTrigger why, uint64_t a, uint64_t b, uint64_t c = 0,
                  uint64_t d = 0) const {
    if (__builtin_expect(sink_ != nullptr, 0)) sink_->on_trace({now, a, b, c, d, qpn, e, why});
  }
  bool on() const { return sink_ != nullptr; }
  TraceSink* sink() const { return sink_; }

 private:
  TraceSink* sink_;
};

}  // namespace mrc::core
