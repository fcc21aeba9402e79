// JSON values as text for people.
#pragma once

#include <string>

namespace mrc::tools {

// A string without quotes, anything else as JSON. For nlohmann::json and ordered_json.
template <typename Json>
std::string text_of(const Json& value) {
  return value.is_string() ? value.template get<std::string>() : value.dump();
}

}  // namespace mrc::tools
