// Waits for memory to change, as a kernel does. Yields, then sleeps: the proxies run on the same few cores.
#pragma once

#include <sched.h>
#include <time.h>

#include <cstdint>

namespace mrc::nccl_rig::player {

// The communicator was aborted while a kernel ran: the kernel ends at once.
struct Aborted {};

template <typename Ready>
void wait_until(const volatile uint32_t* abort_flag, Ready ready) {
  constexpr int kYields = 200;
  for (int looks = 0; !ready(); ++looks) {
    if (*abort_flag != 0) throw Aborted{};
    if (looks < kYields) {
      sched_yield();
    } else {
      const timespec pause{0, 20'000};
      nanosleep(&pause, nullptr);
    }
  }
}

inline uint64_t load(const uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
inline void store(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

}  // namespace mrc::nccl_rig::player
