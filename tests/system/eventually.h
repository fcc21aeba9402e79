// Polls a condition that something else brings about, a thread or a process. The limit is far above what a busy machine
// needs.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "harness/limits.h"

namespace mrc::harness {

// False when it does not hold in time.
inline bool eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + limit(std::chrono::seconds(30));
  for (;;) {
    const bool last = std::chrono::steady_clock::now() > end;  // before the look: this thread may be stopped in between
    if (holds()) return true;
    if (last) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace mrc::harness
