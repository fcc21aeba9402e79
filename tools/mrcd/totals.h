// What processes report of themselves, summed up. [MRC-MON-8]
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace mrc::mrcd {

// Each process on each device, all of its connections together: device, pid, program, number of QPs, counters of each
// port, number of paths in each state. A device and a process appear once, as a metric's labels have to.
nlohmann::json processes_of(const nlohmann::json& reports);
// The same for each device, of all processes together: instead of who they are it has their number. For those who may
// know what a host does, and not who does it.
nlohmann::json totals_of(const nlohmann::json& reports);

}  // namespace mrc::mrcd
