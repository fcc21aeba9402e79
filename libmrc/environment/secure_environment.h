// Reading of environment variables, in the library, the shim, the plugin and the tools. A program that has privileges
// which its user does not have (set-uid, set-gid, file capabilities: AT_SECURE) reads none: a variable with the name of
// a configuration, a library or a file to write would give that user these privileges. Such programs are configured by
// /etc/mrc/mrc.yaml alone. tests/facts/style refuses getenv() and secure_getenv() elsewhere.
#pragma once

#include <stdlib.h>
#include <sys/auxv.h>

namespace mrc::environment {

// Null if the variable is not set, or not trusted. Valid until the environment is changed.
inline const char* variable(const char* name) {
  return ::secure_getenv(name);
}

inline bool is_ignored() {
  return ::getauxval(AT_SECURE) != 0;
}

}  // namespace mrc::environment
