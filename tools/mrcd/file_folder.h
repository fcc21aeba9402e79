// The folder of a file that mrcd makes.
#pragma once

#include <string>

namespace mrc::mrcd {

// Ensures that the folder of `file` exists. That of `standard`, the default, is created: /run is empty after each boot.
// A folder of a configured name is not, because the name may be mistyped. False and a sentence that names `setting` and
// `option`.
bool has_folder(const std::string& file, const std::string& standard, const std::string& setting,
                const std::string& option, std::string* why);

}  // namespace mrc::mrcd
