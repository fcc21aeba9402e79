// Which bridges are a host's own. Reads sysfs; any thread.
#pragma once

#include <filesystem>
#include <string>

namespace mrc::net_bench {

// A bridge none of whose ports is or stands on a card (as a bond or a VLAN does) connects containers or virtual
// machines of this host, such as docker0: every host has it, with the same address. `net`: the folder of all
// interfaces.
bool is_internal_bridge(const std::string& interface, const std::filesystem::path& net = "/sys/class/net");

}  // namespace mrc::net_bench
