// The network interfaces of a device's planes, as described by libmrc. For the files of sysfs and the port's speed.
// [VRB-SYS-5]
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <vector>

namespace mrc::shim {

struct Links {
  std::vector<std::string> interfaces;  // of each plane; empty where the plane is no interface of the kernel
  double gbps = 0;                      // all planes together; 0: unknown
};

// Of a context of the software device.
Links links_of(ibv_context* soft);
// The interface that has the GID's address, else the first plane's; may be empty.
std::string interface_of(const union ibv_gid& gid, const Links& links);
// The reported port speed: if unknown, that of the port's attributes (4X EDR).
inline double port_gbps(const Links& links) {
  constexpr double kUnknownGbps = 100;
  return links.gbps > 0 ? links.gbps : kUnknownGbps;
}
// Real path of the hardware behind the first plane that has some: the nearest folder with a NUMA node, which is
// the PCI device's. Empty if there is none. `sysfs`: the folder of the interfaces' folders.
std::string hardware_of(const Links& links, const std::string& sysfs = "/sys/class/net");

}  // namespace mrc::shim
