// DPDK ports in pairs, joined by rings in memory, for tests of the DPDK datapath in one process.
#pragma once

#include <cstdint>
#include <string>

namespace mrc::datapath {

// Name of the port at one side (0 or 1) of pair number `pair`; starts DPDK with those arguments and makes the pair when
// it is asked for the first time. What lies in the pair's rings from before is gone.
std::string ring_port(const std::string& arguments, uint32_t pair, int side);

}  // namespace mrc::datapath
