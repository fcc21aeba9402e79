// Forks of this process. A child has copies of the objects that its parent had, but not their threads and sockets: they
// stay the parent's. The child can open devices of its own. [VRB-FRK-1]
#pragma once

#include <atomic>
#include <cstdint>

namespace mrc::shim {

extern std::atomic<uint32_t> fork_count;  // from the first process of the program to this one

// The time at which an object was made, in forks.
class ForkGeneration {
 public:
  // Made by a parent of this process.
  bool inherited() const { return at_ != fork_count.load(std::memory_order_relaxed); }

 private:
  const uint32_t at_ = fork_count.load(std::memory_order_relaxed);
};

}  // namespace mrc::shim
