// One line per event, for people; the layout may change.
#pragma once

#include <string>

#include "log.h"

namespace mrc::log {

std::string to_text(const Event& e, int64_t begin_ns);

// The record as in the file, without separators.
nlohmann::json to_json(const Event& e);

}  // namespace mrc::log
