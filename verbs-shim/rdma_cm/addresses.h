// IP addresses of rdma_cm's commands, of sockets, and of the connection protocol.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>

#include "cm/message.h"

namespace mrc::shim::rdma_cm {

// Empty: neither IPv4 nor IPv6, or too short.
std::optional<cm::Address> from_sockaddr(const void* address, size_t size);
// As AF_INET for an IPv4 address, unless IPv6 is asked for. The length.
socklen_t to_sockaddr(const cm::Address& address, bool as_ipv6, sockaddr_storage* out);
bool is_ipv4(const cm::Address& address);
bool is_any(const cm::Address& address);  // without regard to the port
cm::Address loopback(bool ipv4);
// Finds the route there: from `source`, or from the address that takes its place if that is unspecified. 0, or the
// errno of the kernel, such as ENETUNREACH. Ports are left alone.
int find_route(const cm::Address& remote, cm::Address* source);

}  // namespace mrc::shim::rdma_cm
