// The file from which a restarted mrcd restores its devices. Written beside the old one and renamed over it, so that
// there is always a complete one. [MRC-MRCD-7]
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "result.h"

namespace mrc::mrcd {

// An absent file is an empty object.
Result<nlohmann::json> load_state(const std::string& path);
Status save_state(const std::string& path, const nlohmann::json& state);

}  // namespace mrc::mrcd
