// Small helpers around one UDP socket: owning descriptor, address conversion, options, obtained buffer sizes.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/ip.h"
#include "base/result.h"
#include "datapath/fd.h"
#include "datapath/udp/syscalls.h"

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
  bool reuse_port = false;  // several processes may send from the same explicit EV port
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

// Index, name and MTU of the interface that owns an address. MTU 0 if unknown.
struct Interface {
  std::string name;
  uint32_t index = 0;
  uint32_t mtu = 0;
};
Interface interface_of(const IpAddress& addr);

// Leases the IPv6 flow label for a socket, so that sending with it works even where another program on this host owns
// exclusive labels. Without such owners the kernel needs no lease: a refusal is not an error.
void lease_flow_label(const UdpSyscalls& sys, int fd, uint32_t label);

}  // namespace mrc::datapath
