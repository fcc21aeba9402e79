// The folder of a file that mrcd makes.
#pragma once

#include <string>

#include "result.h"

namespace mrc::mrcd {

// Ensures that the folder of `file` exists. That of `standard`, the default, is created: /run is empty after each boot.
// A folder of a configured name is not, because the name may be mistyped. An error names `setting` and `option`.
Status have_folder(const std::string& file, const std::string& standard, const std::string& setting,
                   const std::string& option);

}  // namespace mrc::mrcd
