// The file from which a restarted mrcd restores its devices. Written beside the old one and renamed over it, so that
// there is always a complete one. [MRC-MRCD-7]
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mrc::mrcd {

// False and a sentence. An absent file is an empty object.
bool load_state(const std::string& path, nlohmann::json* out, std::string* why);
bool save_state(const std::string& path, const nlohmann::json& state, std::string* why);

}  // namespace mrc::mrcd
