// Counts how often each thread takes each lock. Preloaded (LD_PRELOAD) into a program, it writes at the program's exit
// one JSON object to the file that LOCK_COUNT_FILE names:
//   {"threads": ["mrc-perf", "mrc-helper", ..], "locks": [[12, 0, ..], ..], "uncounted": 0}
// the names of the threads that have taken any, and for each lock how often each of them took it, in the same order.
// Without that variable nothing is written.
//
// Locks are the mutexes and read-write locks of pthreads, and thereby those of the C++ library. What a condition
// variable takes again, and the C library's own locks, are not seen. A lock is its address: one that is made where
// another one was is the same. Threads: any.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "secure_environment.h"

namespace {

constexpr size_t kHashBits = 10, kMaxLocks = size_t{1} << kHashBits, kMaxThreads = 64, kNameBytes = 16;
constexpr uint64_t kNameEvery = 1024;  // a thread is given its name after its first locks

struct Lock {
  std::atomic<const void*> address{nullptr};
  std::array<std::atomic<uint64_t>, kMaxThreads> taken{};
};

struct Thread {
  static constexpr size_t kNone = SIZE_MAX;
  size_t index = kNone;
  uint64_t taken = 0;
};

std::array<Lock, kMaxLocks> locks;
std::array<std::array<char, kNameBytes>, kMaxThreads> names;
std::atomic<size_t> threads{0};
std::atomic<uint64_t> uncounted{0};
thread_local Thread self;

// Null: the table is full.
Lock* find(const void* address) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
  size_t at = (uint64_t{reinterpret_cast<uintptr_t>(address)} * kGolden) >> (64 - kHashBits);
  for (size_t tried = 0; tried < kMaxLocks; ++tried, at = (at + 1) % kMaxLocks) {
    const void* found = nullptr;
    if (locks[at].address.compare_exchange_strong(found, address) || found == address) return &locks[at];
  }
  return nullptr;
}

void count(const void* address) {
  if (self.index == Thread::kNone) self.index = threads.fetch_add(1);
  Lock* const lock = self.index < kMaxThreads ? find(address) : nullptr;
  if (lock == nullptr) {
    uncounted.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (self.taken++ % kNameEvery == 0) ::prctl(PR_GET_NAME, names[self.index].data());
  lock->taken[self.index].fetch_add(1, std::memory_order_relaxed);
}

template <typename Type>
using Take = int (*)(Type*);

template <typename Type>
Take<Type> next(const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Take<Type>>(found);
}

// Names of threads are those of programs of ours, without a character that JSON escapes.
__attribute__((destructor)) void write_counts() {
  const char* const path = mrc::environment::variable("LOCK_COUNT_FILE");
  std::FILE* const out = path != nullptr ? std::fopen(path, "we") : nullptr;
  if (out == nullptr) return;
  const size_t n = std::min(threads.load(), kMaxThreads);
  std::fputs("{\"threads\": [", out);
  for (size_t i = 0; i < n; ++i) std::fprintf(out, "%s\"%.15s\"", i > 0 ? ", " : "", names[i].data());
  std::fputs("], \"locks\": [", out);
  const char* between = "";
  for (const Lock& lock : locks) {
    if (lock.address.load() == nullptr) continue;
    std::fprintf(out, "%s[", between);
    for (size_t i = 0; i < n; ++i)
      std::fprintf(out, "%s%llu", i > 0 ? ", " : "", static_cast<unsigned long long>(lock.taken[i].load()));
    std::fputs("]", out);
    between = ", ";
  }
  std::fprintf(out, "], \"uncounted\": %llu}\n", static_cast<unsigned long long>(uncounted.load()));
  std::fclose(out);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto real = next<pthread_mutex_t>("pthread_mutex_lock");
  count(mutex);
  return real(mutex);
}

__attribute__((visibility("default"))) int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static const auto real = next<pthread_mutex_t>("pthread_mutex_trylock");
  const int result = real(mutex);
  if (result == 0) count(mutex);
  return result;
}

__attribute__((visibility("default"))) int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  static const auto real = next<pthread_rwlock_t>("pthread_rwlock_rdlock");
  count(lock);
  return real(lock);
}

__attribute__((visibility("default"))) int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  static const auto real = next<pthread_rwlock_t>("pthread_rwlock_wrlock");
  count(lock);
  return real(lock);
}

}  // extern "C"
