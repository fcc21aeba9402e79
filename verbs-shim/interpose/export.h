// An exported symbol: all others are hidden, and verbs.map assigns its version.
#pragma once

#include <cerrno>

#define MRC_EXPORT __attribute__((visibility("default")))

// Verbs functions return the error; some programs read errno instead.
inline int with_errno(int error) {
  if (error != 0) errno = error;
  return error;
}
