// Running programs on a host or switch of the lab.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "state.h"

namespace mrc::fabric {

// Becomes the program: in the node's network namespace, with a mount namespace of its own in which /sys shows that
// network and /etc/hosts names all hosts, and with MRC_CONFIG for a host unless it is set. Throws FabricError.
[[noreturn]] void exec_on(const LabState& state, const Topology& topology, const std::string& node,
                          const std::vector<std::string>& words);
// Runs a program outside the lab with MRC_LAB set, and waits; returns its exit status. It ends when we do.
int run_beside(const LabState& state, const std::vector<std::string>& words, const std::function<void()>& in_child);

}  // namespace mrc::fabric
