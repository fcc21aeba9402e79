// Opens the datapath that the settings choose, in the first process slot that is free.
#pragma once

#include <cstdint>
#include <memory>

#include "datapath/host_datapath.h"
#include "device/config.h"
#include "result.h"

namespace mrc::device {

struct HostPath {
  std::unique_ptr<datapath::HostDatapath> datapath;
  uint32_t slot = 0;
};
// `seed` determines the flow labels of structured EVs. The search for a slot begins at `first_slot`. `engines`: of
// this process on the device that are still to open, this one included. EADDRINUSE: no slot is free.
Result<HostPath> open_host_datapath(const DeviceConfig& config, uint64_t seed, uint32_t first_slot = 0,
                                    uint32_t engines = 1);

}  // namespace mrc::device
