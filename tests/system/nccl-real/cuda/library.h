// libnccl.so.2, loaded, with the CUDA runtime inside it replaced by the stand-in: NCCL links the runtime statically, so
// each of its functions is overwritten in memory by a jump. Functions that the stand-in lacks end the process by name.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "cuda/nccl_api.h"

namespace mrc::nccl_rig {

// No NCCL here, or not the build whose layouts the player has. The tests skip.
struct NoLibrary : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr const char* kBuildId = "9fcf74d93a8c3605bf7718f594d0a24366e38536";  // NCCL 2.28.9 for CUDA 13, x86-64

struct Library {
  std::string path;
  NcclApi api;
  const int* row_to_function;  // ncclDevFuncRowToId: the kernel's function of each row of the table of functions
  size_t rows;
};

// The path in NCCL_RIG_LIBRARY, else that of /usr/local/cuda, else that of the system's folders.
std::string find_library();
// Throws NoLibrary where the file is not the library whose kernels the player has; loads nothing.
void require_library(const std::string& path);
// Once per process, before any other use of NCCL. Throws NoLibrary.
const Library& load_library(const std::string& path);
const Library& loaded_library();

}  // namespace mrc::nccl_rig
