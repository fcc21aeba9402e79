// The devices of the stand-in. A process has `device_count` of them; their PCI addresses have no node in /sys.
#pragma once

#include <string>

namespace mrc::nccl_rig::cuda {

void set_device_count(int count);
int device_count();
// Compute capability: NCCL_RIG_SM, 80 where it is not set. 8.0 has neither clusters nor NVLS nor symmetric kernels.
int compute_major();
int current_device();  // of this thread
void set_current_device(int device);
std::string bus_id(int device);
// -1: no device has it.
int device_with_bus_id(const char* id);

}  // namespace mrc::nccl_rig::cuda
