// The software devices as libibverbs shows devices. They are made once and stay for the life of the process.
#pragma once

#include <infiniband/verbs.h>

#include <vector>

namespace mrc::shim {

// Those that MRC_SHIM_DEVICES lets through; empty when there is no MRC library.
const std::vector<ibv_device*>& devices();
bool is_our_device(const ibv_device* device);
ibv_device* soft_device(const ibv_device* ours);
uint64_t device_guid(const ibv_device* ours);  // network order; 0 when it cannot be opened
int device_index(const ibv_device* ours);
// By the name that stands in sysfs; null when it is none of ours.
ibv_device* device_by_name(const char* name);
ibv_device* device_by_uverbs(const char* name);

}  // namespace mrc::shim
