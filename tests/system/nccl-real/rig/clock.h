// Seconds since some point in the past.
#pragma once

#include <chrono>

namespace mrc::nccl_rig {

inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace mrc::nccl_rig
