// A port that one socket alone may send from. Linux lets a process send with any local source address from the port
// that it has bound at another local address (IP_PKTINFO), so a socket bound to one address does not prevent other
// users of the host from sending with its address and port. A second socket, bound to the same port of every address,
// does [MRC-SEC-12, spec/security.md].
//
// Each EV has a port of its own, and so a guard. With one port for an EV of every plane a guard would serve all of
// them, but a SACK names an EV by its value alone (EngineContext::ev_index_of).
#pragma once

#include <cstdint>
#include <string>

#include "datapath/port_range.h"
#include "datapath/udp/socket.h"
#include "fd.h"

namespace mrc::datapath {

struct GuardedUdp : BoundUdp {
  // Holds the port on every address; nothing is read from it. Invalid when the port could not be held: the socket
  // itself is usable nevertheless.
  Fd guard;
};
// As open_udp() on that port, EADDRINUSE where any address has it; 0: on a free one of the system's choice.
Result<GuardedUdp> open_guarded_udp(const UdpSyscalls& sys, const IpAddress& addr, const std::string& interface,
                                    uint16_t port = 0);

// On a port of the range, the first free one from the `begin`th on, cyclically. `guarded` false: without a guard.
Result<GuardedUdp> open_in_range(const UdpSyscalls& sys, const BindRequest& request, const PortRange& range,
                                 uint32_t begin, bool guarded);

// Holds a port for a socket that is opened later, by open_held(): the given one, any free one (0), or the first free
// one of a range.
Result<BoundUdp> hold_port(const UdpSyscalls& sys, uint16_t port);
Result<BoundUdp> hold_in_range(const UdpSyscalls& sys, const PortRange& range, uint32_t begin);
// As open_udp() on a port that `guard` holds, which it goes on to do.
Result<BoundUdp> open_held(const UdpSyscalls& sys, const IpAddress& addr, const std::string& interface, uint16_t port,
                           int guard);

}  // namespace mrc::datapath
