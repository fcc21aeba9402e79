#include "progress/forks.h"

#include <pthread.h>

namespace mrc::shim {

std::atomic<uint32_t> fork_count{0};

namespace {

[[gnu::constructor]] void count_forks() {
  pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1); });
}

}  // namespace

}  // namespace mrc::shim
