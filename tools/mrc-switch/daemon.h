// The switch as a process: one thread that carries frames between the packet socket and the switch, follows the links'
// state and answers the control socket. Runs until SIGTERM or SIGINT.
//
// It wakes at most every `tick`, so that a busy switch moves bursts; what that delays is at most one tick on the way
// out, and never a mark or a trim, which use the frames' own time stamps. The default is the duration of a packet of
// 4 KiB takes on the fastest port, between 50 and 250 us.
#pragma once

#include <string>

#include "base/time.h"
#include "setup.h"

namespace mrc::softswitch {

struct DaemonOptions {
  std::string socket;  // path of the control socket
  Duration tick;       // zero: by the ports' rates
};

// Prints "ready" on standard output once it forwards. Returns when a signal ends it. Throws FabricError.
void run_daemon(const fabric::Topology& topology, const fabric::NodeConfig& node, const DaemonOptions& options);

}  // namespace mrc::softswitch
