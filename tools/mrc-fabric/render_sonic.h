// A switch as SONiC's config_db.json, to be merged over the platform's own file (`config load`), which has the lanes of
// the ports. Port k of a switch in the plan's order is Ethernet<8k>, as on switches with eight lanes per port; its
// alias says which of the plan's ports it is.
//
// Queues: 3 data (ECN, trimmed beyond its threshold), 6 trimmed headers (their share of the link), 7 control (strict).
// DSCP are the defaults of libmrc [spec/settings.md].
#pragma once

#include <string>

#include "node_config.h"

namespace mrc::fabric {

struct DscpPlan {
  int no_trim = 0, trimmable = 4, trimmable_retx = 8, trimmed = 12, trimmed_last_hop = 16, control = 46;
};

std::string render_sonic(const Topology& topology, const NodeConfig& node);

}  // namespace mrc::fabric
