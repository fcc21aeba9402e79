// Small helpers around one UDP socket: owning descriptor, address conversion, options, obtained buffer sizes.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/ip.h"
#include "datapath/udp/syscalls.h"
#include "fd.h"
#include "result.h"

namespace mrc::datapath {

union SockAddr {
  sockaddr sa;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// `scope` is the interface index for link-local IPv6 addresses, `flow_label` goes into sin6_flowinfo. Returns the
// length.
socklen_t to_sockaddr(const IpAddress& ip, uint16_t port, uint32_t scope, uint32_t flow_label, SockAddr* out);
void from_sockaddr(const SockAddr& in, IpAddress* ip, uint16_t* port);

struct BindRequest {
  IpAddress addr;
  uint16_t port = 0;  // 0: any
  std::string interface;
  bool reuse_port = false;     // several processes may send from the same explicit EV port
  bool reuse_address = false;  // several processes receive the datagrams of one multicast group
};

struct BoundUdp {
  Fd fd;
  uint16_t port = 0;
};
// A bound, non-blocking UDP socket of the address's family that never fragments. The error is the system call's.
Result<BoundUdp> open_udp(const UdpSyscalls& sys, const BindRequest& request);

// The bytes the kernel accounts for, requested with the privileged option first. `receive`: SO_RCVBUF, else SO_SNDBUF.
// The kernel reports twice what was granted, its own overhead included; this returns the granted half.
uint32_t grow_buffer(const UdpSyscalls& sys, int fd, bool receive, uint32_t wanted);
// To the kernel's minimum, for a socket that is never read.
void shrink_receive_buffer(const UdpSyscalls& sys, int fd);

// Index, name and MTU of the interface that owns an address. MTU 0 if unknown.
struct Interface {
  std::string name;
  uint32_t index = 0;
  uint32_t mtu = 0;
};
Interface interface_of(const IpAddress& addr);

// The interface computes the checksums of what it sends (ethtool: tx); false if unknown.
bool computes_checksums(const std::string& interface);

// Leases the IPv6 flow label for a socket, so that sending with it works even where another program on this host owns
// exclusive labels. Without such owners the kernel needs no lease: a refusal is not an error.
void lease_flow_label(const UdpSyscalls& sys, int fd, uint32_t label);

}  // namespace mrc::datapath
