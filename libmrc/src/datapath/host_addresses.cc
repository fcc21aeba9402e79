#include "datapath/host_addresses.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <cstring>
#include <memory>
#include <optional>

#include "datapath/udp/socket.h"

namespace mrc::datapath {

namespace {

using AddressList = std::unique_ptr<ifaddrs, void (*)(ifaddrs*)>;

IpAddress network_of(const IpAddress& ip, const sockaddr* mask) {
  IpAddress network = ip;
  if (mask == nullptr) return network;
  const bool v4 = ip.is_v4();
  const auto* bytes = v4 ? reinterpret_cast<const uint8_t*>(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr)
                         : reinterpret_cast<const uint8_t*>(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr);
  for (size_t b = v4 ? 12 : 0; b < network.bytes.size(); ++b) network.bytes[b] &= bytes[v4 ? b - 12 : b];
  return network;
}

AddressList read_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) first = nullptr;
  return {first, ::freeifaddrs};
}

}  // namespace

std::vector<HostAddress> host_addresses() {
  std::vector<HostAddress> all;
  const AddressList list = read_addresses();
  for (const ifaddrs* i = list.get(); i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6)) continue;
    SockAddr from;
    std::memcpy(&from, i->ifa_addr, i->ifa_addr->sa_family == AF_INET ? sizeof(from.v4) : sizeof(from.v6));
    HostAddress& a = all.emplace_back();
    uint16_t port;
    from_sockaddr(from, &a.ip, &port);
    a.interface = i->ifa_name;
    a.up = (i->ifa_flags & IFF_UP) != 0;
    a.has_link = a.up && (i->ifa_flags & IFF_RUNNING) != 0;
    a.network = network_of(a.ip, i->ifa_netmask);
  }
  return all;
}

// IPv6 holds an address back (tentative) until no other host on the link has answered for it, and without a link it
// cannot ask. A port that is taken down loses its IPv6 addresses altogether.
std::string why_unavailable(const IpAddress& ip) {
  for (const HostAddress& a : host_addresses()) {
    if (a.ip != ip) continue;
    if (!a.has_link)
      return "interface " + a.interface +
             " has the address, but no link, and without one IPv6 does not let it be used: connect the cable";
    return "interface " + a.interface +
           " has the address, but IPv6 is still looking for another host that has it, or has found one: see 'ip "
           "address show dev " +
           a.interface + "'";
  }
  return "no interface of this host has this address: set it, and if it is an IPv6 address, keep its port up";
}

}  // namespace mrc::datapath
