// The datapath that builds complete frames: IPv6 in IPv6 with the path in the outer destination, and an SRH where the
// path does not fit, as in the specification of SRv6 EVs [MRC-SR-11..17, spec/srv6.md]. Without an Srv6Plan it sends
// plain IPv6 and UDP. IPv6 only; requires CAP_NET_RAW.
//
// Frames use AF_XDP if the interface and the kernel support it: an XDP program picks this plane's packets, the
// kernel's stack never receives them. Otherwise AF_PACKET sockets: the stack also receives the packets, drops the plain
// ones silently (held_ports.h), and may answer encapsulated ones with a few ICMP messages a second, which are
// ignored here. [MRC-SR-22]
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "datapath/host_datapath.h"
#include "result.h"

namespace mrc::datapath {

enum class RawIo : uint8_t { kAuto, kXdp, kPacket };

// Fails when a socket cannot be created, with the plane; EADDRINUSE when a port is taken.
Result<std::unique_ptr<HostDatapath>> open_raw_datapath(const HostConfig& config, RawIo io);

}  // namespace mrc::datapath
