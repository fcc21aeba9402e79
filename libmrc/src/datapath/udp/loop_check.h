// Detects at opening on which planes UDP checksums and GSO survive SRv6: a burst and a single datagram are sent over
// each loop of the plan through the fabric back to this host. The checksum covers the address with all its uSIDs, the
// receiver sees it shifted: only if the checksum is not filled in on the way (virtual links between namespaces) does
// the datagram arrive [MRC-SR-8].
#pragma once

#include <cstdint>
#include <vector>

#include "datapath/srv6/plan.h"
#include "datapath/udp/syscalls.h"
#include "datapath/udp/udp_datapath.h"

namespace mrc::datapath {

// The planes of which every loop returned everything; never a plane without a loop. Waits for at most 1 s
// in all, and only if something is missing.
PlaneSet check_loops(const UdpSyscalls& sys, const PerPlane<HostPlane>& planes, const Srv6Plan& plan);

}  // namespace mrc::datapath
