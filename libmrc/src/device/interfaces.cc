#include "device/interfaces.h"

#include <absl/strings/str_join.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>
#include <set>

#include "datapath/host_addresses.h"
#include "fd.h"

namespace mrc::device {

namespace {

using datapath::host_addresses;
using datapath::HostAddress;

int rank(const IpAddress& ip) {
  return ip.is_v4() ? 2 : ip.is_link_local() ? 1 : 3;
}

}  // namespace

std::optional<IpAddress> address_of_interface(const std::string& name) {
  std::optional<IpAddress> found;
  int best = 0;
  for (const HostAddress& a : host_addresses()) {
    if (a.interface != name || rank(a.ip) <= best) continue;
    best = rank(a.ip);
    found = a.ip;
  }
  return found;
}

std::string interface_of_address(const IpAddress& ip) {
  for (const HostAddress& a : host_addresses())
    if (a.ip == ip) return a.interface;
  return "";
}

double card_speed_gbps(const std::string& interface, const std::string& sysfs) {
  const std::string folder = sysfs + "/" + interface;
  if (interface.empty() || ::access((folder + "/device").c_str(), F_OK) != 0) return 0;  // veth has a speed, too
  std::ifstream file(folder + "/speed");
  double mbps = 0;
  return file >> mbps && mbps > 0 ? mbps / 1000 : 0;
}

std::string interface_names() {
  std::set<std::string> names;
  for (const HostAddress& a : host_addresses()) names.insert(a.interface);
  return absl::StrJoin(names, ", ");
}

bool ipv6_loopback_works() {
  const Fd fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return false;
  sockaddr_in6 addr{};
  addr.sin6_family = AF_INET6;
  addr.sin6_addr = in6addr_loopback;
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&addr), sizeof(addr)) == 0;
}

}  // namespace mrc::device
