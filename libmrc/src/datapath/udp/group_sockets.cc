#include "datapath/udp/group_sockets.h"

#include <net/if.h>

#include <cerrno>
#include <cstring>

namespace mrc::datapath {

namespace {

constexpr int kIpv6MulticastAll = 29;  // IPV6_MULTICAST_ALL, since Linux 4.20; not in every <netinet/in.h>

bool set(const UdpSyscalls& sys, int fd, int level, int name, int value) {
  return sys.setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

bool join_on(const UdpSyscalls& sys, int fd, const IpAddress& group, uint32_t interface) {
  if (group.is_v4()) {
    ip_mreqn request{};
    std::memcpy(&request.imr_multiaddr, group.bytes.data() + 12, 4);
    request.imr_ifindex = static_cast<int>(interface);
    return sys.setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)) == 0;
  }
  ipv6_mreq request{};
  std::memcpy(&request.ipv6mr_multiaddr, group.bytes.data(), 16);
  request.ipv6mr_interface = interface;
  return sys.setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof(request)) == 0;
}

}  // namespace

IpAddress group_source_address(const IpAddress& plane) {
  static const IpAddress kLoopback6 = IpAddress::parse("::1").value_or(IpAddress());
  return plane == kLoopback6 ? IpAddress::v4(127, 0, 0, 1) : plane;
}

uint32_t group_interface(const HostPlane& plane) {
  return plane.interface.empty() ? interface_of(plane.addr).index : if_nametoindex(plane.interface.c_str());
}

Result<BoundUdp> open_group_source(const UdpSyscalls& sys, const HostPlane& plane) {
  const IpAddress source = group_source_address(plane.addr);
  Result<BoundUdp> bound = open_udp(sys, {source, 0, plane.interface, false, false});
  if (!bound) return bound;
  const uint32_t interface = group_interface(plane);
  bool done;
  if (source.is_v4()) {
    ip_mreqn request{};
    request.imr_ifindex = static_cast<int>(interface);
    done = sys.setsockopt(bound->fd.get(), IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof(request)) == 0;
  } else {
    done = set(sys, bound->fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(interface));
  }
  if (!done) return failed_call("cannot choose the interface of multicast from " + source.to_string());
  return bound;
}

Result<BoundUdp> open_group_receiver(const UdpSyscalls& sys, const core::PlaneAddress& group,
                                     const std::vector<uint32_t>& interfaces) {
  Result<BoundUdp> bound = open_udp(sys, {group.addr, group.port, "", false, true});
  if (!bound) return bound;
  const int fd = bound->fd.get();
  const bool v4 = group.addr.is_v4();
  // Only from interfaces that this socket has joined, whatever those of other programs have.
  (void)set(sys, fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MULTICAST_ALL : kIpv6MulticastAll, 0);
  (void)set(sys, fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_RECVTOS : IPV6_RECVTCLASS, 1);
  (void)set(sys, fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
  if (!set(sys, fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_PKTINFO : IPV6_RECVPKTINFO, 1))
    return failed_call("cannot receive multicast");
  for (const uint32_t interface : interfaces)
    if (!join_on(sys, fd, group.addr, interface))
      return failed_call("cannot join multicast group " + group.addr.to_string());
  return bound;
}

uint32_t arrival_interface(const msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(const_cast<msghdr*>(&message), c)) {
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
      in_pktinfo info;
      std::memcpy(&info, CMSG_DATA(c), sizeof(info));
      return static_cast<uint32_t>(info.ipi_ifindex);
    }
    if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info;
      std::memcpy(&info, CMSG_DATA(c), sizeof(info));
      return info.ipi6_ifindex;
    }
  }
  return 0;
}

}  // namespace mrc::datapath
