#include "interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <cstring>
#include <memory>

#include "name_filter.h"

namespace mrc::nccl {

std::string SocketAddress::text() const {
  char host[INET6_ADDRSTRLEN] = "?";
  const bool six = any.sa_family == AF_INET6;
  inet_ntop(any.sa_family, six ? static_cast<const void*>(&v6.sin6_addr) : &v4.sin_addr, host, sizeof host);
  return (six ? "[" + std::string(host) + "]" : host) + ":" + std::to_string(ntohs(six ? v6.sin6_port : v4.sin_port));
}

const Interface* choose_interface(const std::vector<Interface>& all, const Settings& settings) {
  auto family_fits = [&](const Interface& i) {
    if (settings.socket_family == "AF_INET") return i.address.any.sa_family == AF_INET;
    if (settings.socket_family == "AF_INET6") return i.address.any.sa_family == AF_INET6;
    return true;
  };
  auto first = [&](const std::string& list) -> const Interface* {
    for (const Interface& i : all)
      if (family_fits(i) && name_chosen(list, i.name)) return &i;
    return nullptr;
  };
  if (!settings.socket_ifname.empty()) return first(settings.socket_ifname);
  for (const char* list : {"ib", "^docker,lo,virbr", "docker", "lo", "virbr"})
    if (const Interface* found = first(list); found != nullptr) return found;
  return nullptr;
}

std::vector<Interface> list_interfaces() {
  std::vector<Interface> found;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return found;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(first, freeifaddrs);
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    Interface interface {
      i->ifa_name, {}
    };
    if (i->ifa_addr->sa_family == AF_INET) {
      std::memcpy(&interface.address.v4, i->ifa_addr, sizeof(sockaddr_in));
    } else if (i->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(&interface.address.v6, i->ifa_addr, sizeof(sockaddr_in6));
      if (IN6_IS_ADDR_LINKLOCAL(&interface.address.v6.sin6_addr)) continue;
    } else {
      continue;
    }
    found.push_back(interface);
  }
  return found;
}

}  // namespace mrc::nccl
