// Clocks of the host in nanoseconds, for code that passes time on to the engine or measures it. Any thread.
#pragma once

#include <time.h>

#include <cstdint>

namespace mrc::environment {

constexpr int64_t ns_of(const timespec& t) {
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

inline int64_t clock_ns(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return ns_of(t);
}

}  // namespace mrc::environment
