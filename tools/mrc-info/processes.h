// The processes that use a device now, as each of them tells. [spec/settings.md, publish]
#pragma once

#include <string>

#include "devices.h"

namespace mrc::info {

// One object per process and device; `only` picks one device by name. `folder` is the setting `publish`. Those of this
// user; root is told of every user's. Names that dead processes left behind are removed.
Json running_processes(const std::string& folder, const std::string& only);
void print_processes(const Json& processes);

}  // namespace mrc::info
