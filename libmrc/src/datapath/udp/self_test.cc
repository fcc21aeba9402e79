#include "datapath/udp/self_test.h"

#include <netinet/udp.h>
#include <poll.h>

#include <array>
#include <cstring>

#include "datapath/udp/socket.h"

namespace mrc::datapath {

OffloadSupport test_offload(const UdpSyscalls& sys, const IpAddress& addr, const std::string& interface) {
  OffloadSupport result;
  const Result<BoundUdp> sender = open_udp(sys, {addr, 0, interface, false});
  const Result<BoundUdp> receiver = open_udp(sys, {addr, 0, interface, false});
  if (!sender || !receiver) return result;
  const Fd &tx = sender->fd, &rx = receiver->fd;
  int on = 1;
  result.gro = sys.setsockopt(rx.get(), IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) == 0;

  std::array<uint8_t, 96> payload{};
  payload[64] = 1;  // distinguishes the second segment from the first
  iovec iov{payload.data(), payload.size()};
  SockAddr to;
  msghdr msg{};
  msg.msg_namelen = to_sockaddr(addr, receiver->port, interface_of(addr).index, 0, &to);
  msg.msg_name = &to;
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  alignas(8) std::array<char, CMSG_SPACE(sizeof(uint16_t))> control{};
  msg.msg_control = control.data();
  msg.msg_controllen = control.size();
  cmsghdr* c = CMSG_FIRSTHDR(&msg);
  c->cmsg_level = IPPROTO_UDP;
  c->cmsg_type = UDP_SEGMENT;
  c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
  uint16_t segment = 64;
  std::memcpy(CMSG_DATA(c), &segment, sizeof(segment));
  if (sys.sendmsg(tx.get(), &msg, MSG_DONTWAIT) != static_cast<ssize_t>(payload.size())) return result;

  // With GRO one datagram of 96 bytes; without, two of 64 and 32. The own host delivers at once: a short wait is
  // enough.
  pollfd wait{rx.get(), POLLIN, 0};
  if (::poll(&wait, 1, 200) != 1) return {false, false};
  std::array<uint8_t, 256> in;
  ssize_t n = ::recv(rx.get(), in.data(), in.size(), MSG_DONTWAIT);
  result.gso = n == 96 || n == 64;
  result.gro = result.gro && n == 96;
  return result;
}

}  // namespace mrc::datapath
