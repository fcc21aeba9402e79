// The origin by which HttpServer bounds a visitor's connections. [MRC-MON-8]
#pragma once

#include <optional>
#include <string>

namespace mrc::mrcd {

// "user N" for a visitor on this host (the kernel knows whose connection it is), else the IPv4 address, or the IPv6 /64
// network. None: the visitor has gone already. Reads the kernel's table of connections, so that it takes time in
// proportion to these.
std::optional<std::string> origin_of(int socket);

}  // namespace mrc::mrcd
