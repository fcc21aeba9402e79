// Watching packets pass: probes are UDP datagrams to one port, and a packet socket in every namespace of interest sees
// them come in and go out, with the destination address as it is there. Nothing has to come back, so what is seen does
// not depend on any other path. Needs root. Single-threaded.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "state.h"
#include "topology.h"

namespace mrc::fabric {

inline constexpr uint16_t kProbePort = 33434;  // as traceroute

struct Observation {
  // "NODE:PORT" -> packets that came in there, and that went out.
  std::map<std::string, uint32_t> in, out;
};

// Packets that came in at any port of the node.
uint32_t count_at(const Observation& seen, const NodeId& node);

// Sends `count` probes from `source` and waits until they are seen at `target` or `wait_ms` have passed. Of the hosts
// these two watch, and `end`, where the probes are expected to end.
Observation observe(const LabState& state, const Topology& topology, uint32_t source, uint32_t target,
                    const NodeId& end, const IpAddress& destination, uint32_t count, uint32_t wait_ms);

}  // namespace mrc::fabric
