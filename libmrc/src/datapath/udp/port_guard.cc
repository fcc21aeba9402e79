#include "datapath/udp/port_guard.h"

#include <sys/resource.h>

#include <cerrno>

namespace mrc::datapath {

namespace {

constexpr int kSmallestBuffer = 2304;  // the kernel's minimum

void set_reuse_port(const UdpSyscalls& sys, int fd, int on) {
  (void)sys.setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
}

// Bound to any free port of all addresses, IPv4 and, unless the kernel has none, IPv6.
BoundUdp open_guard(const UdpSyscalls& sys) {
  for (const IpAddress& any : {IpAddress(), IpAddress::v4(0, 0, 0, 0)}) {
    const int family = any.is_v4() ? AF_INET : AF_INET6;
    Fd fd(sys.socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
    if (!fd && family == AF_INET6 && errno == EAFNOSUPPORT) continue;
    if (!fd) break;
    const int off = 0;
    if (family == AF_INET6) (void)sys.setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    (void)sys.setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kSmallestBuffer, sizeof(kSmallestBuffer));
    SockAddr addr;
    socklen_t length = to_sockaddr(any, 0, 0, 0, &addr);
    if (sys.bind(fd.get(), &addr.sa, length) != 0) break;
    length = sizeof(addr);
    if (::getsockname(fd.get(), &addr.sa, &length) != 0) break;
    IpAddress ip;
    BoundUdp bound{std::move(fd)};
    from_sockaddr(addr, &ip, &bound.port);
    return bound;
  }
  return {};
}

}  // namespace

Result<GuardedUdp> open_guarded_udp(const UdpSyscalls& sys, const IpAddress& addr, const std::string& interface) {
  BoundUdp guard = open_guard(sys);
  if (guard.fd) {
    // Both allow sharing for the moment of the second bind, which the kernel grants to sockets of one user only.
    set_reuse_port(sys, guard.fd.get(), 1);
    Result<BoundUdp> bound = open_udp(sys, {addr, guard.port, interface, true});
    if (!bound && bound.error().code != EADDRINUSE) return std::move(bound).error();
    if (bound) {
      set_reuse_port(sys, bound->fd.get(), 0);
      set_reuse_port(sys, guard.fd.get(), 0);
      return GuardedUdp{*std::move(bound), std::move(guard.fd)};
    }
    guard.fd = Fd();  // its option was refused
  }
  Result<BoundUdp> bound = open_udp(sys, {addr, 0, interface, false});
  if (!bound) return std::move(bound).error();
  return GuardedUdp{*std::move(bound), Fd()};
}

bool guards_fit(size_t sockets) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && 4 * sockets <= limit.rlim_cur;
}

}  // namespace mrc::datapath
