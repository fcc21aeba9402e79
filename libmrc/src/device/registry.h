// The devices of this process: configuration read once, devices started at their first open and stopped at their last
// close or at process exit. A child made by fork() starts without any: the inherited copies are disabled.
#pragma once

#include <memory>

#include "device/config.h"
#include "device/shards.h"
#include "result.h"

namespace mrc::device {

// The configuration of this process, read at the first call (and again while it was refused). Null when it is refused:
// see config_error(). The pointer stays valid.
const Config* process_config();
// The reason why the configuration was refused; null if it was not. The pointer stays valid until the next refusal.
const char* config_error();

// Opens by name (null or empty: the first device), starting it unless it is open in this process. Release every
// pointer: the release of the last one stops the device. Failures are logged here: ENODEV, EINVAL, EADDRINUSE, ...
Result<std::shared_ptr<Shards>> open_device(const char* name);

// Before any of these, or while no device is open: the configuration of this process is `config`, and its devices are
// started by `start`. For programs that run devices in a time and over a network of their own.
using StartDevice = Result<std::shared_ptr<Shards>> (*)(const DeviceConfig& config);
void provide_devices(const Config& config, StartDevice start);

}  // namespace mrc::device
