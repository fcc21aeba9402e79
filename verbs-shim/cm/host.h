// Host: what limits count as one client, because one client can have many of it: the port, and the last 64 bits of an
// IPv6 address, are left out of an address. [CM-LIM-1]
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cm/ip_bytes.h"
#include "cm/message.h"

namespace mrc::shim::cm {

using Host = std::array<uint8_t, 16>;

inline Host host_of(const Address& client) {
  Host host = client.ip;
  if (!is_mapped(host.data())) std::fill(host.begin() + 8, host.end(), uint8_t{0});
  return host;
}

}  // namespace mrc::shim::cm
