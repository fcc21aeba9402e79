// Opens the datapath that the settings choose, in the first process slot that is free.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "datapath/host_datapath.h"
#include "device/config.h"

namespace mrc::device {

struct HostPath {
  std::unique_ptr<datapath::HostDatapath> datapath;
  uint32_t slot = 0;
};
// `seed` determines the flow labels of structured EVs. EADDRINUSE: no slot is free.
Result<HostPath> open_host_datapath(const DeviceConfig& config, uint64_t seed);

}  // namespace mrc::device
