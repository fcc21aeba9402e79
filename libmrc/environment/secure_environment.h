// How environment variables are read, in the library, the shim, the plugin and the tools. A program that has privileges
// which its user has not (set-uid, set-gid, file capabilities: AT_SECURE) sees none: a variable that named a
// configuration, a library or a file to write would let that user act with these privileges. Such programs are
// configured by /etc/mrc/mrc.yaml alone. tests/style refuses getenv() and secure_getenv() elsewhere.
#pragma once

#include <stdlib.h>
#include <sys/auxv.h>

namespace mrc::environment {

// Null where the variable is not set, or is not to be trusted. Valid until the environment is changed.
inline const char* variable(const char* name) {
  return ::secure_getenv(name);
}

inline bool is_ignored() {
  return ::getauxval(AT_SECURE) != 0;
}

}  // namespace mrc::environment
