// The software devices in libibverbs' form. They are created once and exist until the process ends.
#pragma once

#include <infiniband/verbs.h>

#include <vector>

namespace mrc::shim {

// Those selected by MRC_SHIM_DEVICES; empty when there is no MRC library.
const std::vector<ibv_device*>& devices();
bool is_our_device(const ibv_device* device);
ibv_device* soft_device(const ibv_device* ours);
uint64_t device_guid(const ibv_device* ours);  // network order; 0 when it cannot be opened
int device_index(const ibv_device* ours);
// By the name in sysfs; null when it is none of ours.
ibv_device* device_by_name(const char* name);
ibv_device* device_by_uverbs(const char* name);

}  // namespace mrc::shim
