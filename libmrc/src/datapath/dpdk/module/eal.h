// DPDK's environment (EAL): one per process, started by the first datapath that uses it and never ended, because ports
// of other datapaths may depend on it.
#pragma once

#include <string>

#include "result.h"

namespace mrc::datapath {

// Arguments separated by blanks. If they select no processors, DPDK gets one logical core that may run wherever this
// process may: the datapath polls on its callers' threads and requires no others. A second call requires the same
// arguments: EBUSY.
Status start_eal(const std::string& arguments);

}  // namespace mrc::datapath
