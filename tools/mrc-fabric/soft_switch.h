// Switches of the lab that are processes of mrc-switch instead of the kernel (fabric file, lab: mrc_switch). The kernel
// of such a namespace keeps interfaces and addresses and answers for them; it forwards and shapes nothing.
//
// A process that runs but does not answer (stopped, for example) is ended and started again.
#pragma once

#include "node_config.h"
#include "state.h"

namespace mrc::fabric {

bool is_soft_switch(const FabricSpec& spec, const NodeId& node);
bool is_put_down(const Json& faults, const std::string& node);         // of any kind, by `mrc-fabric fault switch`
std::string switch_socket(const LabState& state, const NodeId& node);  // where the process listens
// The part left to the kernel.
NodeConfig kernel_part(NodeConfig node);
// Requirements of a switch in user space on its links, at both ends: packets as on a cable, with checksums.
void turn_off_offloads(const LabState& state, const Topology& topology);

// Starts every such switch that does not run, and ends those that are down in `faults`. Throws FabricError.
void keep_switches(const LabState& state, const Topology& topology, const Json& faults);
void set_switch_rate(const LabState& state, const NodeId& node, const std::string& port, double bps);
// Its counters, see tools/mrc-switch/report.cc; null: it does not run.
Json switch_report(const LabState& state, const NodeId& node);

}  // namespace mrc::fabric
