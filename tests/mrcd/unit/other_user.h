// A user who may not change what all share, to be played by these tests: another one where they run as root, else the
// one who runs them.
#pragma once

#include <unistd.h>

namespace mrc::mrcd {

inline uid_t other_user() {
  constexpr uid_t kNobody = 65534;
  return ::geteuid() == 0 ? kNobody : ::geteuid();
}

}  // namespace mrc::mrcd
