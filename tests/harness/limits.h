// Limits of tests, far above what a busy machine needs: none of them judges by speed. A sanitizer and MRC_TEST_SCALE
// multiply them (tools/cmake/MrcTests.cmake).
#pragma once

#include <chrono>
#include <cstdlib>

namespace mrc::harness {

inline std::chrono::milliseconds limit(std::chrono::milliseconds quiet) {
  const char* scale = std::getenv("TEST_SCALE");
  return scale == nullptr ? quiet : quiet * std::atoi(scale);
}

inline int limit_ms(int quiet_ms) {  // as poll() takes it
  return static_cast<int>(limit(std::chrono::milliseconds(quiet_ms)).count());
}

inline unsigned limit_s(unsigned quiet_s) {
  return static_cast<unsigned>(limit(std::chrono::seconds(quiet_s)).count() / 1000);
}

}  // namespace mrc::harness
