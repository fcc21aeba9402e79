// A switch as FRR's frr.conf: addresses, static routes, and the switch's own segment. The static-sids stanza needs FRR
// 10.2 or newer, lengths and behaviour of the locator one newer than 8.4 [spec/switch_config.md]. There is no
// command for neighbour entries: FRR leaves them to the kernel, which finds the fixed link-local addresses by neighbour
// discovery.
#pragma once

#include <string>

#include "node_config.h"

namespace mrc::fabric {

std::string render_frr(const FabricSpec& spec, const NodeConfig& node);

}  // namespace mrc::fabric
