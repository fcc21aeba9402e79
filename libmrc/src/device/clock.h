// The one clock of the device layer.
#pragma once

#include <time.h>

#include "base/time.h"

namespace mrc::device {

inline Instant clock_now() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant::from_ns(static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec);
}

}  // namespace mrc::device
