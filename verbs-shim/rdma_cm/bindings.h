// Which ids can have the same port: the rules of the kernel's rdma_cm. [CM-PORT-1]
#pragma once

#include "rdma_cm/addresses.h"

namespace mrc::shim::rdma_cm {

// The port of an id, or the one that it asks for.
struct Binding {
  uint16_t port_space = 0;
  cm::Address address;
  bool family_only = false;  // an unspecified IPv6 address does not take the IPv4 port of that number
  bool reusable = false;     // RDMA_OPTION_ID_REUSEADDR
};

// Both have it only where the addresses differ, or where both allow it.
inline bool conflicts(const Binding& a, const Binding& b) {
  if (a.port_space != b.port_space || a.address.port != b.address.port) return false;
  if (a.reusable && b.reusable) return false;
  const auto one_family = [](const Binding& binding) { return binding.family_only || is_ipv4(binding.address); };
  if (is_ipv4(a.address) != is_ipv4(b.address) && one_family(a) && one_family(b)) return false;
  return is_any(a.address) || is_any(b.address) || a.address.ip == b.address.ip;
}

}  // namespace mrc::shim::rdma_cm
