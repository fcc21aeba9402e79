// The host's routing rules that choose a table by UDP source port, as encapsulation by the kernel needs them
// [MRC-SR-26]. Reading them needs no privilege.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datapath/port_range.h"

namespace mrc::datapath {

// Ranges of source ports that rules for IPv6 name, in the order of the kernel. Empty as well where they cannot be read.
std::vector<PortRange> source_port_rules();

// The first of `parts` equal parts of `ports` to which no rule applies as a whole, as a sentence; empty: all have one.
std::string missing_rule(const std::vector<PortRange>& rules, const PortRange& ports, uint32_t parts);

}  // namespace mrc::datapath
