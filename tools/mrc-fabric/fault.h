// Faults of the lab. The lab's state lists what is in force; from the list follows what each port must be like, and
// ports are made so. Faults may overlap: a link that is down stays down when its switch comes back.
//
//     {"h0:p1": {"link": "down"}}                    both ends lose their carrier (the upper end is taken down)
//     {"h0:p1": {"port": "down"}}                    set down administratively at this end; the other loses its carrier
//     {"p0-t1-0": {"switch": "down"}}                all its ports
//     {"p0-t0-0:t1-1": {"loss": 0.05, "direction": "up"}}      drops packets in silence; up: towards the T1s
//     {"p0-t0-0:t1-1": {"rate": 1e8}}                bits per second, both directions
//
// Link faults are listed under the link's lower end. A packet here is what the kernel hands from port to port: a GSO
// burst is lost as a whole.
#pragma once

#include <string>

#include "state.h"

namespace mrc::fabric {

// Each changes the list and the ports, under the lab's lock. Throws FabricError.
void fault_link(LabState* state, const Topology& topology, const std::string& where, bool down);
void fault_port(LabState* state, const Topology& topology, const std::string& where, bool down);
void fault_switch(LabState* state, const Topology& topology, const std::string& where, bool down);
// `direction`: up (towards the T1s), down, or both. A share of 0 lifts it.
void fault_loss(LabState* state, const Topology& topology, const std::string& where, double share,
                const std::string& direction);
void fault_rate(LabState* state, const Topology& topology, const std::string& where, double bps);
// Down and up in turn until `count` is reached or a signal has arrived; ends in the state up.
void fault_flap(LabState* state, const Topology& topology, const std::string& where, sim::Ps down, sim::Ps up,
                uint32_t count);
// Empty: everything. Returns how many faults were lifted.
size_t fault_clear(LabState* state, const Topology& topology, const std::string& where);

// The effect of the list on one port.
struct PortCondition {
  bool down = false;
  double loss = 0;  // of what it sends
  double rate = 0;  // 0: as the fabric has it
};
PortCondition condition_of(const Json& faults, const Link& link, const Port& port);
// A classifier that drops this share of a port's packets, in tc's syntax.
std::string loss_bytecode(double share);

}  // namespace mrc::fabric
