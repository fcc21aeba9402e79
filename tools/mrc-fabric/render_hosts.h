// Files of a host of the fabric besides its network: mrc.yaml for the MRC device, and names of all hosts in the form
// of /etc/hosts (on the management network).
#pragma once

#include <string>

#include "topology.h"

namespace mrc::fabric {

// Hosts have `ev_mode: srv6`, so that an entropy value names the switches of a path.
bool hosts_name_paths(const FabricSpec& spec);
std::string render_host(const Topology& topology, uint32_t host);
std::string render_names(const Topology& topology);

}  // namespace mrc::fabric
