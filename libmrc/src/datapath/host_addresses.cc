#include "datapath/host_addresses.h"

#include <ifaddrs.h>

#include <cstring>
#include <memory>

#include "datapath/udp/socket.h"

namespace mrc::datapath {

std::vector<HostAddress> host_addresses() {
  std::vector<HostAddress> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, ::freeifaddrs);
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6)) continue;
    SockAddr from;
    std::memcpy(&from, i->ifa_addr, i->ifa_addr->sa_family == AF_INET ? sizeof(from.v4) : sizeof(from.v6));
    HostAddress& a = all.emplace_back();
    uint16_t port;
    from_sockaddr(from, &a.ip, &port);
    a.interface = i->ifa_name;
  }
  return all;
}

}  // namespace mrc::datapath
