// Waits for ports that have been set up. The kernel activates a port's queue some time after it has a carrier, in a
// worker of its own; until then the port drops what it is given to send.
#pragma once

#include <vector>

#include "state.h"

namespace mrc::fabric {

// Returns when both ends of each link can send; links with an end that a fault keeps down are passed over. Throws
// FabricError with the port's name where that takes longer than any working kernel needs.
void wait_for_carriers(const LabState& state, const Json& faults, const std::vector<const Link*>& links);

}  // namespace mrc::fabric
