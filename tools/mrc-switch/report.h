// The counters of a switch as JSON and as a table.
#pragma once

#include <string>

#include "packet_socket.h"

namespace mrc::softswitch {

std::string report(const Switch& s, const SocketCounters& socket, Duration uptime);
std::string report_table(const std::string& json);

}  // namespace mrc::softswitch
