// DPDK's environment (EAL): one per process, started by the first datapath that uses it and never ended, because ports
// of other datapaths may depend on it.
#pragma once

#include <string>

namespace mrc::datapath {

// Arguments separated by blanks. If they select no processors, DPDK gets one logical core that may run wherever this
// process may: the datapath polls on its callers' threads and requires no others. False: a sentence in *error. A second
// call requires the same arguments.
bool start_eal(const std::string& arguments, std::string* error);

}  // namespace mrc::datapath
