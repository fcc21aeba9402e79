// The devices of this host as the library sees them: opened one after the other, described, closed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mrc::info {

using Json = nlohmann::ordered_json;

// Throws std::runtime_error where the configuration is refused, or has no device `only` (empty: any).
void check_name(const std::string& only);
// One object per device; `only` picks one by name. Throws std::runtime_error with a sentence.
Json describe_devices(const std::string& only);
// A configuration file with the planes of these.
void print_suggestion(const Json& devices);
void print_devices(const Json& devices, bool with_evs);

}  // namespace mrc::info
