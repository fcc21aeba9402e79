// Queues, buffers, marking and trimming of a SONiC switch [spec/switch_config.md]. Queues: 0 data that must not be
// trimmed and everything else, 3 trimmable data, 6 trimmed packets, 7 control. DSCP are the defaults of libmrc
// [spec/settings.md].
#pragma once

#include <map>
#include <string>

#include "node_config.h"
#include "sonic_db.h"

namespace mrc::fabric {

struct DscpPlan {
  int no_trim = 0, trimmable = 4, trimmable_retx = 8, trimmed = 12, trimmed_last_hop = 16, control = 46;
};

// `names`: what SONiC calls the ports of the node.
void add_queues(const FabricSpec& spec, const NodeConfig& node, const std::map<std::string, std::string>& names,
                SonicDb* db);

}  // namespace mrc::fabric
