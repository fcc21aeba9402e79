// Tracer: receives the trace events of the engine's parts, by EngineContext::report. Without a sink an event costs one
// branch.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "core/trace.h"

namespace mrc::core {

class Tracer {
 public:
  explicit Tracer(TraceSink* sink) : sink_(sink) {}
  // `qpn` is 0 for events of the endpoint.
  template <typename Event>
  void operator()(Instant now, Qpn qpn, TraceTrigger why, const Event& e) const {
    if (__builtin_expect(sink_ != nullptr, 0)) sink_->on_trace(TraceEntry::of(now, qpn, why, e));
  }
  bool on() const { return sink_ != nullptr; }
  TraceSink* sink() const { return sink_; }

 private:
  TraceSink* sink_;
};

}  // namespace mrc::core
