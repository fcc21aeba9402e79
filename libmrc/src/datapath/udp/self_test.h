// Detects at opening whether this kernel segments (GSO) and merges (GRO) UDP: two segments are sent to ourselves.
#pragma once

#include <string>

#include "base/ip.h"
#include "datapath/udp/syscalls.h"

namespace mrc::datapath {

struct OffloadSupport {
  bool gso = false;
  bool gro = false;
};
OffloadSupport test_offload(const UdpSyscalls& sys, const IpAddress& addr, const std::string& interface);

}  // namespace mrc::datapath
