// The facts of a host that a job should find alike on all of its hosts: kernel, processors, socket buffers, versions,
// and of each plane MTU, GSO, GRO and its address.
#pragma once

#include "channel.h"

namespace mrc::net_bench {

// {"compare": {name: value, ..}, "addresses": {"plane 1": "10.0.0.1", ..}}: all are texts. `library`: the plugin's
// file, by its path or by its name for dlopen.
Json host_facts(const std::string& library);

}  // namespace mrc::net_bench
