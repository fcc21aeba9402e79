// Sockets of multicast groups: one per plane that sends to all groups, and one per group that receives from all planes'
// interfaces. The receiving one is bound to the group's address and shares address and port with those of other
// processes: the kernel gives each of them a copy. [MRC-UD-9..10]
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.h"
#include "datapath/host_datapath.h"
#include "datapath/udp/socket.h"

namespace mrc::datapath {

// From which datagrams to groups leave by a plane: its address; for ::1, 127.0.0.1, since Linux has no route for
// multicast of IPv6 over lo.
IpAddress group_source_address(const IpAddress& plane);
// Index of the plane's interface, 0 if unknown.
uint32_t group_interface(const HostPlane& plane);

// Copies for the processes of this host are on, the hop limit is 1: the kernel's defaults.
Result<BoundUdp> open_group_source(const UdpSyscalls& sys, const HostPlane& plane);
Result<BoundUdp> open_group_receiver(const UdpSyscalls& sys, const core::PlaneAddress& group,
                                     const std::vector<uint32_t>& interfaces);
// The interface on which a message of such a socket arrived; 0: unknown.
uint32_t arrival_interface(const msghdr& message);

}  // namespace mrc::datapath
