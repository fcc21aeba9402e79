// A switch as SONiC's config_db.json, to be merged over the platform's own file (`config load`), which has the lanes of
// the ports and the size of the buffer pool [spec/switch_config.md]. Port k of a switch in the plan's order is
// Ethernet<8k>, as on switches with eight lanes per port; its alias is the plan's name of the port.
#pragma once

#include "node_config.h"
#include "sonic_db.h"

namespace mrc::fabric {

SonicDb render_sonic(const Topology& topology, const NodeConfig& node);

}  // namespace mrc::fabric
