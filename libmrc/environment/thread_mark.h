// Tells threads apart: an address that is the calling thread's own for as long as it lives.
#pragma once

namespace mrc::environment {

inline const void* thread_mark() {
  static thread_local const char mark = 0;
  return &mark;
}

}  // namespace mrc::environment
