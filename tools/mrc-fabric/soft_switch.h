// Switches of the lab that are processes of mrc-switch instead of the kernel (fabric file, lab: mrc_switch). The kernel
// of such a namespace keeps interfaces and addresses and answers for them; it forwards and shapes nothing.
//
// A process that is there but does not answer (stopped, say) is ended and started anew.
#pragma once

#include "node_config.h"
#include "state.h"

namespace mrc::fabric {

bool is_soft_switch(const FabricSpec& spec, const NodeId& node);
bool is_put_down(const Json& faults, const std::string& node);         // of any kind, by `mrc-fabric fault switch`
std::string switch_socket(const LabState& state, const NodeId& node);  // where the process listens
// What is left for the kernel to do.
NodeConfig kernel_part(NodeConfig node);
// What a switch in user space needs of its links, at both ends: packets as they are on a cable, with checksums.
void turn_off_offloads(const LabState& state, const Topology& topology);

// Starts every such switch that does not run, and ends those that `faults` says are down. Throws FabricError.
void keep_switches(const LabState& state, const Topology& topology, const Json& faults);
void set_switch_rate(const LabState& state, const NodeId& node, const std::string& port, double bps);
// What it counts, see tools/mrc-switch/report.cc; null: it does not run.
Json switch_report(const LabState& state, const NodeId& node);

}  // namespace mrc::fabric
