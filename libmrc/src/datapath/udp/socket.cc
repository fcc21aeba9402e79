#include "datapath/udp/socket.h"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/in6.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "datapath/host_addresses.h"

namespace mrc::datapath {

namespace {

// <linux/in6.h> and <netinet/in.h> agree to share definitions; these two are in the kernel's header only on some
// systems.
#ifndef IPV6_FLOWINFO_SEND
constexpr int kIpv6FlowinfoSend = 33;
#else
constexpr int kIpv6FlowinfoSend = IPV6_FLOWINFO_SEND;
#endif

void set_int(const UdpSyscalls& sys, int fd, int level, int name, int value) {
  (void)sys.setsockopt(fd, level, name, &value, sizeof(value));
}

// Unlike the C library's functions, the calls made per burst are no cancellation points: a thread cancelled there
// would keep the device's lock. They also cost less.
ssize_t send_message(int fd, const msghdr* message, int flags) {
  return ::syscall(SYS_sendmsg, fd, message, flags);
}
int send_messages(int fd, mmsghdr* messages, unsigned int count, int flags) {
  return static_cast<int>(::syscall(SYS_sendmmsg, fd, messages, count, flags));
}
ssize_t receive_message(int fd, msghdr* message, int flags) {
  return ::syscall(SYS_recvmsg, fd, message, flags);
}
int receive_messages(int fd, mmsghdr* messages, unsigned int count, int flags, timespec* max) {
  return static_cast<int>(::syscall(SYS_recvmmsg, fd, messages, count, flags, max));
}

}  // namespace

const UdpSyscalls& kernel_syscalls() {
  static const UdpSyscalls table = {::socket,     ::bind,        ::setsockopt,    ::connect,
                                    send_message, send_messages, receive_message, receive_messages};
  return table;
}

socklen_t to_sockaddr(const IpAddress& ip, uint16_t port, uint32_t scope, uint32_t flow_label, SockAddr* out) {
  if (ip.is_v4()) {
    std::memset(&out->v4, 0, sizeof(out->v4));
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons(port);
    std::memcpy(&out->v4.sin_addr, ip.bytes.data() + 12, 4);
    return sizeof(out->v4);
  }
  std::memset(&out->v6, 0, sizeof(out->v6));
  out->v6.sin6_family = AF_INET6;
  out->v6.sin6_port = htons(port);
  out->v6.sin6_flowinfo = htonl(flow_label & 0xFFFFF);
  out->v6.sin6_scope_id = ip.is_link_local() ? scope : 0;
  std::memcpy(&out->v6.sin6_addr, ip.bytes.data(), 16);
  return sizeof(out->v6);
}

void from_sockaddr(const SockAddr& in, IpAddress* ip, uint16_t* port) {
  if (in.sa.sa_family == AF_INET) {
    uint8_t a[4];
    std::memcpy(a, &in.v4.sin_addr, 4);
    *ip = IpAddress::v4(a[0], a[1], a[2], a[3]);
    *port = ntohs(in.v4.sin_port);
  } else {
    std::memcpy(ip->bytes.data(), &in.v6.sin6_addr, 16);
    *port = ntohs(in.v6.sin6_port);
  }
}

Result<BoundUdp> open_udp(const UdpSyscalls& sys, const BindRequest& request) {
  bool v4 = request.addr.is_v4();
  auto fail = [&](const std::string& what) {
    const int code = errno;
    Error error =
        failed_call(what + " for " + request.addr.to_string() + " port " + std::to_string(request.port), code);
    if (code == EADDRNOTAVAIL) error.text += " (" + why_unavailable(request.addr) + ")";
    if (code == EADDRINUSE) error.text += " (another program uses this port)";
    if (code == EMFILE) error.text += " (raise the limit of open files, ulimit -n)";
    return error;
  };
  Fd fd(sys.socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
  if (!fd) return fail("cannot create a UDP socket");
  uint32_t scope = 0;
  if (!v4) set_int(sys, fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (!request.interface.empty()) {
    scope = if_nametoindex(request.interface.c_str());
    if (scope == 0) return fail("there is no interface " + request.interface);
    // Since Linux 5.7 this needs no privilege on a socket that is not bound to a device yet.
    if (sys.setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, request.interface.c_str(),
                       static_cast<socklen_t>(request.interface.size())) != 0)
      return fail("cannot bind to interface " + request.interface);
  }
  if (request.reuse_address) set_int(sys, fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (request.reuse_port) set_int(sys, fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  // PROBE sends whatever the interface takes, never in fragments. With DO the kernel refuses what is larger than the
  // MTU that the last ICMP message claimed, for ten minutes, and any host can send one. [MRC-MTU-6]
  if (v4) {
    set_int(sys, fd.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  } else {
    set_int(sys, fd.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
    set_int(sys, fd.get(), IPPROTO_IPV6, IPV6_DONTFRAG, 1);
  }
  SockAddr addr;
  socklen_t length = to_sockaddr(request.addr, request.port, scope, 0, &addr);
  if (sys.bind(fd.get(), &addr.sa, length) != 0) return fail("cannot bind");
  length = sizeof(addr);
  if (::getsockname(fd.get(), &addr.sa, &length) != 0) return fail("cannot read the bound port");
  IpAddress ip;
  BoundUdp bound{std::move(fd)};
  from_sockaddr(addr, &ip, &bound.port);
  return bound;
}

uint32_t grow_buffer(const UdpSyscalls& sys, int fd, bool receive, uint32_t wanted) {
  int value = static_cast<int>(wanted);
  if (sys.setsockopt(fd, SOL_SOCKET, receive ? SO_RCVBUFFORCE : SO_SNDBUFFORCE, &value, sizeof(value)) != 0)
    set_int(sys, fd, SOL_SOCKET, receive ? SO_RCVBUF : SO_SNDBUF, value);
  int got = 0;
  socklen_t length = sizeof(got);
  if (::getsockopt(fd, SOL_SOCKET, receive ? SO_RCVBUF : SO_SNDBUF, &got, &length) != 0) return 0;
  return static_cast<uint32_t>(got) / 2;
}

void shrink_receive_buffer(const UdpSyscalls& sys, int fd) {
  constexpr int kSmallestBuffer = 2304;
  set_int(sys, fd, SOL_SOCKET, SO_RCVBUF, kSmallestBuffer);
}

Interface interface_of(const IpAddress& addr) {
  Interface result;
  for (const HostAddress& host : host_addresses()) {
    if (host.ip != addr && !(addr.is_loopback_v4() && host.ip.is_loopback_v4())) continue;
    result.name = host.interface;
    result.index = if_nametoindex(host.interface.c_str());
    break;
  }
  if (result.name.empty()) return result;
  Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, result.name.c_str(), IFNAMSIZ - 1);
  if (fd && ::ioctl(fd.get(), SIOCGIFMTU, &request) == 0) result.mtu = static_cast<uint32_t>(request.ifr_mtu);
  return result;
}

bool computes_checksums(const std::string& interface) {
  const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_value value{ETHTOOL_GTXCSUM, 0};
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&value);
  return fd && ::ioctl(fd.get(), SIOCETHTOOL, &request) == 0 && value.data != 0;
}

void lease_flow_label(const UdpSyscalls& sys, int fd, uint32_t label) {
  set_int(sys, fd, IPPROTO_IPV6, kIpv6FlowinfoSend, 1);
  set_int(sys, fd, IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0);
  if (label == 0) return;
  in6_flowlabel_req request{};
  request.flr_label = htonl(label & 0xFFFFF);
  request.flr_action = IPV6_FL_A_GET;
  request.flr_share = IPV6_FL_S_ANY;
  request.flr_flags = IPV6_FL_F_CREATE;
  request.flr_expires = 0xFFFF;
  (void)sys.setsockopt(fd, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &request, sizeof(request));
}

}  // namespace mrc::datapath
