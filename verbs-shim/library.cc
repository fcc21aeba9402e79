// Loading and unloading of the library. Loading has no effect on a program without verbs. At exit, pending
// answers to peers are sent. [VRB-INT-2]
#include <pthread.h>

#include <atomic>

#include "objects/context.h"

namespace {

std::atomic<bool> forked{false};

[[gnu::constructor]] void loaded() {
  pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
}

// Not in the child of a fork: its copies of queue pairs belong to the parent.
[[gnu::destructor]] void unloaded() {
  if (!forked.load()) mrc::shim::Context::settle_all();
}

}  // namespace
