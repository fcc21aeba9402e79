#include "device/auto_planes.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "device/interfaces.h"
#include "name_filter.h"

namespace mrc::device {

namespace {

constexpr const char* kAuto = "auto";
constexpr const char* kNotByItself = "^docker,virbr";  // bridges of this host alone, which NCCL leaves out, too

bool reaches_others(const IpAddress& ip) {
  static const IpAddress kLoopback6 = IpAddress::parse("::1").value();
  const bool link_local4 = ip.is_v4() && ip.bytes[12] == 169 && ip.bytes[13] == 254;
  return ip.is_unicast() && !ip.is_link_local() && !link_local4 && !ip.is_loopback_v4() && ip != kLoopback6;
}

}  // namespace

std::vector<PlaneConfig> auto_planes(const std::vector<datapath::HostAddress>& addresses,
                                     const std::string& interfaces) {
  const std::string chosen = interfaces == kAuto ? kNotByItself : interfaces;
  std::map<std::string, const datapath::HostAddress*> by_interface;
  for (const datapath::HostAddress& a : addresses) {
    if (!a.up || !reaches_others(a.ip) || !name_chosen(chosen, a.interface)) continue;
    const datapath::HostAddress*& best = by_interface[a.interface];
    if (best == nullptr || (a.ip.is_v4() && !best->ip.is_v4())) best = &a;
  }
  std::vector<const datapath::HostAddress*> sorted;
  for (const auto& [name, address] : by_interface) sorted.push_back(address);
  std::sort(sorted.begin(), sorted.end(), [](const datapath::HostAddress* a, const datapath::HostAddress* b) {
    return std::tie(a->network, a->ip) < std::tie(b->network, b->ip);
  });
  std::vector<PlaneConfig> planes;
  for (const datapath::HostAddress* a : sorted) {
    if (planes.size() == PlaneSet::kMaxPlanes) break;
    PlaneConfig& plane = planes.emplace_back();
    plane.addr = a->ip;
    plane.interface = a->interface;
  }
  return planes;
}

Result<DeviceConfig> auto_config(const Settings& settings) {
  DeviceConfig device;
  device.settings = settings;
  device.learn_peers = true;
  device.planes = auto_planes(datapath::host_addresses(), settings.interfaces);
  if (!device.planes.empty()) return device;
  const auto set = settings.origins.find("interfaces");
  return invalid((set != settings.origins.end() ? set->second : std::string("interfaces")) + ": value is '" +
                 settings.interfaces +
                 "', but none of these interfaces is up and has an address that other hosts can reach; those with an "
                 "address: " +
                 interface_names());
}

}  // namespace mrc::device
