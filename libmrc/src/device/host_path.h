// Opens the datapath that the settings choose, in the first process slot that is free.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "datapath/host_datapath.h"
#include "device/config.h"

namespace mrc::device {

// Null and a sentence in *error, errno in *err. `seed` determines the flow labels of structured EVs.
std::unique_ptr<datapath::HostDatapath> open_host_datapath(const DeviceConfig& config, uint64_t seed, uint32_t* slot,
                                                           std::string* error, int* err);

}  // namespace mrc::device
