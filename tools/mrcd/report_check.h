// Is what a process tells of itself in the form in which everybody reads it? Asked once, where it comes in: the
// metrics, the page and mrcctl rely on it.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace mrc::mrcd {

// Device, program, ports, QPs and peers are there and of their types.
bool is_report(const nlohmann::json& report);

}  // namespace mrc::mrcd
