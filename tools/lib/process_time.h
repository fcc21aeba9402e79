// Clocks of measuring programs: the monotonic one, and the processor time of this process.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "clock_ns.h"

namespace mrc::tools {

inline uint64_t now_ns() {
  return static_cast<uint64_t>(environment::clock_ns(CLOCK_MONOTONIC));
}

// In user mode and in the kernel, all threads.
inline double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto s = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return s(u.ru_utime) + s(u.ru_stime);
}

}  // namespace mrc::tools
