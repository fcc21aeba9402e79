#include "datapath/udp/port_guard.h"

#include <cerrno>
#include <cstring>

namespace mrc::datapath {

namespace {

void set_reuse_port(const UdpSyscalls& sys, int fd, int on) {
  (void)sys.setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
}

// Bound to the port, 0: any free one, of all addresses, IPv4 and, unless the kernel has none, IPv6. The error is the
// system call's.
Result<BoundUdp> open_guard(const UdpSyscalls& sys, uint16_t port) {
  const auto failed = [&] { return Error{errno, "UDP port " + std::to_string(port) + ": " + std::strerror(errno)}; };
  for (const IpAddress& any : {IpAddress(), IpAddress::v4(0, 0, 0, 0)}) {
    const int family = any.is_v4() ? AF_INET : AF_INET6;
    Fd fd(sys.socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
    if (!fd && family == AF_INET6 && errno == EAFNOSUPPORT) continue;
    if (!fd) return failed();
    const int off = 0;
    if (family == AF_INET6) (void)sys.setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    shrink_receive_buffer(sys, fd.get());
    SockAddr addr;
    socklen_t length = to_sockaddr(any, port, 0, 0, &addr);
    if (sys.bind(fd.get(), &addr.sa, length) != 0) return failed();
    length = sizeof(addr);
    if (::getsockname(fd.get(), &addr.sa, &length) != 0) return failed();
    IpAddress ip;
    BoundUdp bound{std::move(fd)};
    from_sockaddr(addr, &ip, &bound.port);
    return bound;
  }
  return failed();
}

}  // namespace

// Both allow sharing for the moment of the second bind, which the kernel grants to sockets of one user only.
Result<BoundUdp> open_held(const UdpSyscalls& sys, const IpAddress& addr, const std::string& interface, uint16_t port,
                           int guard) {
  set_reuse_port(sys, guard, 1);
  Result<BoundUdp> bound = open_udp(sys, {addr, port, interface, true});
  if (bound) set_reuse_port(sys, bound->fd.get(), 0);
  set_reuse_port(sys, guard, 0);
  return bound;
}

Result<BoundUdp> hold_port(const UdpSyscalls& sys, uint16_t port) {
  return open_guard(sys, port);
}

Result<GuardedUdp> open_guarded_udp(const UdpSyscalls& sys, const IpAddress& addr, const std::string& interface,
                                    uint16_t port) {
  Result<BoundUdp> guard = open_guard(sys, port);
  if (port != 0 && !guard) return std::move(guard).error();
  if (guard) {
    Result<BoundUdp> bound = open_held(sys, addr, interface, guard->port, guard->fd.get());
    if (!bound && bound.error().code != EADDRINUSE) return std::move(bound).error();
    if (bound) return GuardedUdp{*std::move(bound), std::move(guard->fd)};
    guard->fd = Fd();  // its option was refused
  }
  Result<BoundUdp> bound = open_udp(sys, {addr, port, interface, false});
  if (!bound) return std::move(bound).error();
  return GuardedUdp{*std::move(bound), Fd()};
}

namespace {

Error no_free_port(const PortRange& range) {
  return Error{EAGAIN, "no UDP port from " + std::to_string(range.first) + " to " + std::to_string(range.last) +
                           " is free: make srv6_source_ports larger, or ev_count smaller"};
}

}  // namespace

Result<BoundUdp> hold_in_range(const UdpSyscalls& sys, const PortRange& range, uint32_t begin) {
  for (uint32_t i = 0; i < range.size(); ++i) {
    Result<BoundUdp> held = open_guard(sys, static_cast<uint16_t>(range.first + (begin + i) % range.size()));
    if (held || held.error().code != EADDRINUSE) return held;
  }
  return no_free_port(range);
}

Result<GuardedUdp> open_in_range(const UdpSyscalls& sys, const BindRequest& request, const PortRange& range,
                                 uint32_t begin, bool guarded) {
  for (uint32_t i = 0; i < range.size(); ++i) {
    const auto port = static_cast<uint16_t>(range.first + (begin + i) % range.size());
    if (guarded) {
      Result<GuardedUdp> opened = open_guarded_udp(sys, request.addr, request.interface, port);
      if (opened || opened.error().code != EADDRINUSE) return opened;
    } else {
      Result<BoundUdp> bound = open_udp(sys, {request.addr, port, request.interface, false});
      if (bound) return GuardedUdp{*std::move(bound), Fd()};
      if (bound.error().code != EADDRINUSE) return std::move(bound).error();
    }
  }
  return no_free_port(range);
}

}  // namespace mrc::datapath
