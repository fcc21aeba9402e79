// The version of this tree, the same for all programs.
#pragma once

namespace mrc::support {

// Such as "1.0.1".
const char* version();

}  // namespace mrc::support
