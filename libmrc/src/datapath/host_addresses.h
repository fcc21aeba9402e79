// The addresses of this host's interfaces, as they are at the moment.
#pragma once

#include <string>
#include <vector>

#include "base/ip.h"

namespace mrc::datapath {

struct HostAddress {
  IpAddress ip;
  std::string interface;
};
// In the kernel's order; empty on an error of the kernel.
std::vector<HostAddress> host_addresses();

}  // namespace mrc::datapath
