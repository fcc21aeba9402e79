// DPDK's environment (EAL): one per process, started by the first datapath that wants it and never ended, since ports
// of other datapaths may stand on it.
#pragma once

#include <string>

namespace mrc::datapath {

// Arguments with blanks between. Where they choose no processors, DPDK gets one logical core that may run wherever this
// process may: the datapath polls on its callers' threads and needs no others. False: a sentence in *error. A second
// call wants the same arguments.
bool start_eal(const std::string& arguments, std::string* error);

}  // namespace mrc::datapath
