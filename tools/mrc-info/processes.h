// The processes that use a device now, as reported by each. [spec/settings.md, publish]
#pragma once

#include <string>

#include "devices.h"

namespace mrc::info {

// One object per process and device; `only` picks one device by name. `folder` is the setting `publish`. Those of this
// user; root gets every user's. Names left by ended processes are removed.
Json running_processes(const std::string& folder, const std::string& only);
void print_processes(const Json& processes);

}  // namespace mrc::info
