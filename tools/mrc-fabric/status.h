// The state of a lab: every link with its state, rate, traffic in both directions, the packets that its queues and
// faults have dropped.
#pragma once

#include <string>

#include "state.h"

namespace mrc::fabric {

// Counters are of the kernel's interfaces and queues since they were made; bytes and packets as sent by that end.
Json describe_lab(const LabState& state, const Topology& topology);
// Nothing is missing, and every mrc-switch runs that no fault has ended.
bool lab_ok(const Json& lab);
std::string status_table(const Json& lab);

}  // namespace mrc::fabric
