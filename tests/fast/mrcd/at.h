// Points in time of the tests here: milliseconds.
#pragma once

#include "base/time.h"

namespace mrc::mrcd {

inline Instant at(int64_t ms) {
  return Instant::from_ns(ms * 1000000);
}

}  // namespace mrc::mrcd
