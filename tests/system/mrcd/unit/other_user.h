// An unprivileged user for these tests, who may not change the shared state: another user if they run as root, else
// the user who runs them.
#pragma once

#include <unistd.h>

namespace mrc::mrcd {

inline uid_t other_user() {
  constexpr uid_t kOtherUid = 65534;
  return ::geteuid() == 0 ? kOtherUid : ::geteuid();
}

}  // namespace mrc::mrcd
