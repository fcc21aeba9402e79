// The part of a fabric file about one switch, for mrc-switch: ports with rates, queues and neighbours, and routes.
//
// Sizes in multiples of the BDP count the plan's own, of the rates that the file gives for real links. A lab whose
// rates are scaled down by 100 thus has queues of as many bytes, and is the same fabric in slow motion
// [MRC-SW-CHOICE-4].
#pragma once

#include "node_config.h"
#include "switch.h"

namespace mrc::softswitch {

// Throws fabric::FabricError where the node is no switch.
SwitchConfig switch_config(const fabric::Topology& topology, const fabric::NodeConfig& node);
void add_routes(const fabric::NodeConfig& node, const SwitchConfig& config, Forwarding* forwarding);

}  // namespace mrc::softswitch
