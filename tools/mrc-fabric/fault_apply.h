// Sets ports according to the list of faults (fault.h). One batch of commands per node: a switch loses all its ports
// within a millisecond or two, as when its power fails, not one after the other.
#pragma once

#include <vector>

#include "state.h"

namespace mrc::fabric {

// The state of a port that follows from faults.
enum class Aspect : uint8_t { kCarrier, kTraffic, kBoth };  // up or down; rate and loss

// Both ends of these links; the node `first`, the switch that a fault is about, before all others.
void apply_faults(const LabState& state, const Topology& topology, const Json& faults,
                  const std::vector<const Link*>& links, Aspect aspect, const NodeId* first = nullptr);

}  // namespace mrc::fabric
