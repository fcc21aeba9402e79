// A switch as FRR's frr.conf: addresses, static routes, and the switch's own segment. The static-sids stanza is of FRR
// 10.2 and newer; everything else is understood since 8. Neighbour entries have no words there: FRR leaves them to the
// kernel, which finds the fixed link-local addresses by neighbour discovery.
#pragma once

#include <string>

#include "node_config.h"

namespace mrc::fabric {

std::string render_frr(const FabricSpec& spec, const NodeConfig& node);

}  // namespace mrc::fabric
