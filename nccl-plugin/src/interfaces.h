// The address of the set-up sockets, by the rules of NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY. [settings.h]
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "settings.h"

namespace mrc::nccl {

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;

  socklen_t size() const { return any.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }
  std::string text() const;  // address and port
};

struct Interface {
  std::string name;
  SocketAddress address;
};

// The first of `all` that the settings choose; null when there is none.
const Interface* choose_interface(const std::vector<Interface>& all, const Settings& settings);
// Interfaces that are up, one entry per usable address. Link-local IPv6 addresses have no meaning for a peer and are
// left out.
std::vector<Interface> list_interfaces();

}  // namespace mrc::nccl
