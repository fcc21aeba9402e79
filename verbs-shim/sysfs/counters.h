// Counters of a port, under the kernel's names for every RDMA device (ports/1/counters) and under
// libmrc's own names (ports/1/hw_counters). They count this process's use. [VRB-SYS-4]
#pragma once

#include <infiniband/verbs.h>

#include <optional>
#include <string>
#include <vector>

namespace mrc::shim {

const std::vector<std::string>& port_counter_names();
std::vector<std::string> device_counter_names(ibv_context* soft);
// In decimal; empty: no such counter.
std::optional<std::string> port_counter(ibv_context* soft, const std::string& name);
std::optional<std::string> device_counter(ibv_context* soft, const std::string& name);

}  // namespace mrc::shim
