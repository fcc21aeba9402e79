// Threads for the blocks of a kernel, kept for the next one.
#pragma once

#include <functional>
#include <vector>

namespace mrc::nccl_rig::player {

// Runs all of them at once, the first on the calling thread, and returns when the last one has ended. Rethrows Aborted.
void run_parallel(const std::vector<std::function<void()>>& tasks);

}  // namespace mrc::nccl_rig::player
