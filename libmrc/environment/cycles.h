// The processor's time stamp counter: for the time of one copy, of which a clock would take a part. It runs at a
// constant rate near the processor's nominal one on every x86-64 of the last decade.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace mrc::environment {

// Always 0 on other processors.
inline uint64_t cycles() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

}  // namespace mrc::environment
