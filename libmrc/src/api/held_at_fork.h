// A lock of the whole process that a child of fork finds free, because every fork waits until it can be held.
#pragma once

#include <pthread.h>

#include "mutex.h"

namespace mrc::api {

// Once for each lock. Handlers run in reverse order before a fork: one that is registered while the library is loaded,
// by a constructor, comes after those of the devices' locks, so that `mutex` may be taken under these.
template <Mutex& mutex>
void hold_at_fork() {
  const auto lock = []() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex.lock(); };
  const auto unlock = []() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex.unlock(); };
  pthread_atfork(lock, unlock, unlock);
}

}  // namespace mrc::api
