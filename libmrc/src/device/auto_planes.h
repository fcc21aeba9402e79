// Planes made of the interfaces of this host, for the setting `interfaces`: one of each interface that is up and has an
// address that other hosts can reach. They are in the order of their networks, so that hosts which are in the same
// networks number them alike.
#pragma once

#include <string>
#include <vector>

#include "datapath/host_addresses.h"
#include "device/config.h"
#include "result.h"

namespace mrc::device {

// `interfaces`: "auto", or a list in the syntax of NCCL_SOCKET_IFNAME. Of an interface's addresses the first IPv4 one
// counts, else the first IPv6 one.
std::vector<PlaneConfig> auto_planes(const std::vector<datapath::HostAddress>& addresses,
                                     const std::string& interfaces);

// A device of these planes, whose peers are queried for theirs. EINVAL: no interface qualifies.
Result<DeviceConfig> auto_config(const Settings& settings);

}  // namespace mrc::device
