// Checks that the planes and EVs of MRC_FAULT exist: a fault on plane 9 of four would silently have no effect.
#pragma once

#include <string>
#include <vector>

#include "device/config.h"

namespace mrc::device {

// One sentence for each rule of the device's setting `fault` that names planes or EVs which the device lacks.
std::vector<std::string> absent_in_fault(const DeviceConfig& device);

// EINVAL when a rule matches nothing on any device with this setting.
Status check_fault(const std::vector<DeviceConfig>& devices);

}  // namespace mrc::device
