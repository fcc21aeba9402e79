// The addresses of this host's interfaces, as they are at the moment.
#pragma once

#include <string>
#include <vector>

#include "base/ip.h"

namespace mrc::datapath {

struct HostAddress {
  IpAddress ip;
  std::string interface;
  IpAddress network;      // the address without its host part
  bool up = false;        // the interface is, with a link or without
  bool has_link = false;  // it is up and has one
};
// In the kernel's order; empty on an error of the kernel.
std::vector<HostAddress> host_addresses();

// Why a socket cannot be bound to the address, and what mends it.
std::string why_unavailable(const IpAddress& ip);

}  // namespace mrc::datapath
