// The rig's own assertion: something that it does not play, or plays wrong. Never a failure of the plugin under test.
#pragma once

namespace mrc::nccl_rig {

// Prints "nccl-rig cannot play this: ..." and ends the process with exit code 70.
[[noreturn]] __attribute__((format(printf, 1, 2))) void fatal(const char* format, ...);
constexpr int kFatalExit = 70;

}  // namespace mrc::nccl_rig
