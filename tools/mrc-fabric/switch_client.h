// Asks a running mrc-switch over its control socket (tools/mrc-switch/control.h).
#pragma once

#include <sys/un.h>

#include <optional>
#include <string>

namespace mrc::fabric {

// Throws FabricError where the path is too long for a socket.
sockaddr_un socket_address(const std::string& path);
// The answer without its line end; nothing where no switch answers.
std::optional<std::string> query_switch(const std::string& path, const std::string& request);

}  // namespace mrc::fabric
