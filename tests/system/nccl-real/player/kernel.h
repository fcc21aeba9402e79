// A launch of one of NCCL's kernels, played on threads of the host: one per channel.
#pragma once

#include <vector>

#include "player/layout.h"

namespace mrc::nccl_rig::player {

// `arguments` are the kernel's, by value. Returns when every block has ended, by itself or by an abort. Ends the
// process where there is something that the player does not know.
void run_kernel(const std::vector<char>& arguments, const void* function, unsigned blocks);

// Of this process: which functions ran how often, for the tests' own checks ("AllReduce_Sum_f32_RING_SIMPLE").
struct FunctionCount {
  const char* name;
  unsigned long works;
};
std::vector<FunctionCount> functions_played();

}  // namespace mrc::nccl_rig::player
