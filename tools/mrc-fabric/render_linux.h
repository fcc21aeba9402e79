// NodeConfig as iproute2 understands it: batch files for `ip -6 -batch` and `tc -batch`, kernel settings as paths below
// /proc/sys, or one shell script per switch. All commands can be given again without harm, so that what a fault has
// flushed (an interface that goes down loses its routes) comes back by giving them once more.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "node_config.h"

namespace mrc::fabric {

using KernelSetting = std::pair<std::string, std::string>;  // path below /proc/sys, value

// Namespaces and veth pairs, for `ip -batch`; `prefix` goes before each node's name.
std::string render_links(const Topology& topology, const std::string& prefix);
std::vector<KernelSetting> render_settings(const NodeConfig& node);
// Addresses, neighbours and routes, for `ip -6 -batch`. `only`: what belongs to one interface; empty: everything.
std::string render_ip(const NodeConfig& node, const std::string& only = "");
std::string render_tc(const NodeConfig& node);
// For `nft -f`: on hosts that decapsulate, the congestion mark of an outer header passes to the inner one, which
// End.DT6 leaves as it was [MRC-SR-28]. Empty for others.
std::string render_marks(const NodeConfig& node);
// Rate limit of one interface at `rate` bits per second.
std::string render_rate(const InterfaceConfig& interface, double rate);
// The same for a real machine, as a script; interfaces must have the names of the plan.
std::string render_script(const FabricSpec& spec, const NodeConfig& node);

}  // namespace mrc::fabric
