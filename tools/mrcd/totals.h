// What processes tell of themselves, summed up: for those who may know what a host does, and not who does it.
// [MRC-MON-8]
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace mrc::mrcd {

// One process: device, pid, program, number of QPs, counters of each port, number of paths in each state.
nlohmann::json summary_of(const nlohmann::json& report);
// The same for each device, of all processes together: instead of who they are it has their number.
nlohmann::json totals_of(const nlohmann::json& reports);

}  // namespace mrc::mrcd
