#include "datapath/raw/packet_sockets.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "datapath/raw/frame_filter.h"

namespace mrc::datapath {

namespace {

Error fail(const std::string& what) {
  Error error = failed_call(what);
  if (error.code == EPERM || error.code == EACCES) error.text += " (the raw datapath needs root or CAP_NET_RAW)";
  return error;
}

sockaddr_ll link(uint32_t interface, uint16_t protocol) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol);
  address.sll_ifindex = static_cast<int>(interface);
  return address;
}

}  // namespace

// Bound to the protocol only after the filter is attached: no other packet is ever queued.
Result<Fd> PacketSockets::open_receiver(uint32_t interface, uint32_t rcvbuf) {
  Fd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail("cannot create a packet socket");
  const int on = 1;
  // The header marks merged packets, which arrive unsplit over virtual links from a peer's segmentation offload.
  if (::setsockopt(fd.get(), SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) != 0 ||
      !attach_filter(fd.get(), frame_filter(ports_.port(), ports_.second_port())))
    return fail("cannot prepare a packet socket");
  granted_receive_ = std::min(granted_receive_, grow_buffer(kernel_syscalls(), fd.get(), true, rcvbuf));
  const sockaddr_ll address = link(interface, ETH_P_IPV6);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return fail("cannot bind a packet socket");
  return fd;
}

Status PacketSockets::open_senders(const HostPlane& plane, uint32_t sndbuf) {
  tx_ = Fd(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  ip_ = Fd(::socket(AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_RAW));
  if (!tx_ || !ip_) return fail("cannot create a raw socket");
  (void)grow_buffer(kernel_syscalls(), tx_.get(), false, sndbuf);
  (void)grow_buffer(kernel_syscalls(), ip_.get(), false, sndbuf);
  const sockaddr_ll address = link(interface_.index, 0);  // protocol 0: receives nothing
  const int on = 1;
  if (::bind(tx_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::setsockopt(ip_.get(), IPPROTO_IPV6, IPV6_HDRINCL, &on, sizeof(on)) != 0)
    return fail("cannot prepare a raw socket");
  if (!plane.interface.empty() && ::setsockopt(ip_.get(), SOL_SOCKET, SO_BINDTODEVICE, plane.interface.c_str(),
                                               static_cast<socklen_t>(plane.interface.size())) != 0)
    return fail("cannot bind to interface " + plane.interface);
  return {};
}

Status PacketSockets::open(const HostPlane& plane, uint32_t rcvbuf, uint32_t sndbuf) {
  if (plane.addr.is_v4())
    return Error{EAFNOSUPPORT, "the raw datapath needs IPv6, the address is " + plane.addr.to_string()};
  if (Status held = ports_.open(plane); !held) return held;  // reports an address that no interface has
  interface_ = interface_of(plane.addr);
  ifreq request{};
  std::strncpy(request.ifr_name, interface_.name.c_str(), IFNAMSIZ - 1);
  if (::ioctl(ports_.fd(), SIOCGIFHWADDR, &request) != 0) return fail("no hardware address of the interface");
  std::copy_n(reinterpret_cast<const uint8_t*>(request.ifr_hwaddr.sa_data), mac_.size(), mac_.begin());
  const uint32_t loopback = if_nametoindex("lo");
  for (size_t i = 0; i < rx_.size(); ++i) {
    const uint32_t interface = i == 0 ? interface_.index : loopback;
    if (i != 0 && (loopback == 0 || loopback == interface_.index)) continue;
    Result<Fd> receiver = open_receiver(interface, rcvbuf);
    if (!receiver) return std::move(receiver).error();
    rx_[i] = *std::move(receiver);
  }
  return open_senders(plane, sndbuf);
}

}  // namespace mrc::datapath
