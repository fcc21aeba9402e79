// Devices on loopback.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "device/device.h"
#include "device/interfaces.h"
#include "harness/device_end.h"

namespace mrc::device {

inline DeviceConfig test_config() {
  Settings settings;
  settings.linger_quiet_ms = 0;
  settings.mrcd_socket.clear();  // what runs on this host is no business of the tests
  return loopback_config(settings, ipv6_loopback_works());
}

inline std::shared_ptr<Device> start(const DeviceConfig& config) {
  Result<std::shared_ptr<Device>> device = Device::start(config);
  EXPECT_TRUE(device) << device.error().text << " " << device.error().code;
  return device ? *std::move(device) : nullptr;
}

}  // namespace mrc::device
