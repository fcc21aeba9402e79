// Checks the format and the limits of a process's report. Called once, when it arrives: the metrics, the page and
// mrcctl rely on it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "ctl/messages.h"

namespace mrc::mrcd {

// None: not a report, or names and ports beyond any device's, or an unknown path state.
std::optional<ctl::DeviceReport> parse_report(const nlohmann::json& report);
bool is_report(const nlohmann::json& report);

}  // namespace mrc::mrcd
