// `mrc-fabric trace`: the path of a packet, computed from the tables, and as observed.
#pragma once

#include <optional>

#include "observe.h"
#include "walk.h"

namespace mrc::fabric {

struct TraceRequest {
  uint32_t source = 0, target = 0;
  std::string path;    // as choose_path takes it, or "all"
  uint32_t count = 1;  // probes
  uint32_t wait_ms = 1000;
};

// With a lab: also observes, and names faults along the way. Each element: one path with its hops.
Json trace(const Topology& topology, const TraceRequest& request, const LabState* state);
std::string trace_text(const Json& traces);
// Every path arrives at the target, and where it was observed every probe took the computed way.
bool trace_ok(const Json& traces);

}  // namespace mrc::fabric
