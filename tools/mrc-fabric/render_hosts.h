// What a host of the fabric needs besides its network: mrc.yaml for the MRC device, and names of all hosts in the form
// of /etc/hosts (on the management network).
#pragma once

#include <string>

#include "topology.h"

namespace mrc::fabric {

std::string render_host(const Topology& topology, uint32_t host);
std::string render_names(const Topology& topology);

}  // namespace mrc::fabric
