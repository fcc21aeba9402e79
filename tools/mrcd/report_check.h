// What a process reports of itself, within limits that everybody who reads it relies on: the metrics, the page and
// mrcctl. Asked once, where it comes in.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "ctl/messages.h"

namespace mrc::mrcd {

// None: not a report, or names and ports beyond any device's, or a path state that there is not.
std::optional<ctl::DeviceReport> parse_report(const nlohmann::json& report);
bool is_report(const nlohmann::json& report);

}  // namespace mrc::mrcd
