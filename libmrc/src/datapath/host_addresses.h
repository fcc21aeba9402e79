// The addresses of this host's interfaces, as they are at the moment.
#pragma once

#include <string>
#include <vector>

#include "base/ip.h"

namespace mrc::datapath {

struct HostAddress {
  IpAddress ip;
  std::string interface;
  bool has_link = false;
};
// In the kernel's order; empty on an error of the kernel.
std::vector<HostAddress> host_addresses();

// Why a socket cannot be bound to the address, and what mends it.
std::string why_unavailable(const IpAddress& ip);

}  // namespace mrc::datapath
