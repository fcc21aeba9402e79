// The origin by which HttpServer limits connections. [MRC-MON-8]
#pragma once

#include <optional>
#include <string>

namespace mrc::mrcd {

// "user N" for a client on this host (from the kernel's table of connections), else the IPv4 address, or the IPv6 /64
// network. None: the client has closed already. Reads the kernel's table of connections, so that it takes time in
// proportion to these.
std::optional<std::string> origin_of(int socket);

}  // namespace mrc::mrcd
