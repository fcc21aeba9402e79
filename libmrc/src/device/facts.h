// DeviceFacts: what is known of a device before it exists, and stays. Read by any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/config.h"
#include "device/config.h"

namespace mrc::device {

struct DeviceFacts {
  DeviceConfig config;
  PerEv<core::EvEntry> evs;
  uint8_t slot = 0;
  uint32_t mtu = 0;                 // largest path MTU
  std::vector<std::string> advice;  // limits of this host to raise
};

}  // namespace mrc::device
