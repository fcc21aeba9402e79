// The identity of this host's loopback, for GIDs that mean it: processes reach each other by loopback if they share a
// network namespace, whatever else their containers have of their own. A device on loopback has GIDs made of it, so
// that the GID of another host's loopback is not taken for its own (spec/configuration.md, Configure it).
#pragma once

#include <cstdint>
#include <vector>

#include "base/ip.h"

namespace mrc::device {

// Of the kernel since its boot, and of the network namespace of the calling thread; 0: unknown.
uint64_t loopback_identity();

// The GID table of a device on the loopback with this identity: link-local, unique local and IPv4 addresses at the
// indices 0, 1 and 3, for programs with a fixed index.
std::vector<IpAddress> loopback_gids(uint64_t identity);

// Of any loopback: one of these, 127.0.0.0/8 or ::1.
bool is_loopback_gid(const IpAddress& gid);

}  // namespace mrc::device
