// An IPv6 address and a UDP port in the form of the socket calls.
#pragma once

#include <netinet/in.h>

#include <cstring>

#include "base/ip.h"

namespace mrc::mrcd {

inline sockaddr_in6 socket_address(const IpAddress& address, uint16_t port) {
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  at.sin6_port = htons(port);
  std::memcpy(&at.sin6_addr, address.bytes.data(), address.bytes.size());
  return at;
}

}  // namespace mrc::mrcd
