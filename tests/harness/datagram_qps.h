// Two datagram QPs of a device, which join and leave multicast groups.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "base/ip.h"
#include "core/datagram_receive_queue.h"
#include "device/device.h"

namespace mrc::device {

// Outlives the device, which destroys them. The groups are 239.0.0.x.
class DatagramQps final : public core::QpSink {
 public:
  void create(Device* device) {
    device_ = device;
    const DeviceLock lock(device_->mutex());
    for (core::DatagramQp*& qp : qps_) {
      core::DatagramQpInit init;
      init.sink = this;
      init.qpn = device_->qpns().take();
      init.receive = &queue_;
      qp = device_->endpoint().create_datagram_qp(init);
      ASSERT_NE(qp, nullptr);
    }
  }
  bool on_completion(const core::Completion&) override { return true; }
  void on_event(core::AsyncEvent) override {}

  // As Device::attach_locked and detach_locked.
  int attach(size_t i, uint8_t last) {
    const DeviceLock lock(device_->mutex());
    return device_->attach_locked(qps_[i], IpAddress::v4(239, 0, 0, last));
  }
  int detach(size_t i, uint8_t last) {
    const DeviceLock lock(device_->mutex());
    return device_->detach_locked(qps_[i], IpAddress::v4(239, 0, 0, last));
  }

 private:
  Device* device_ = nullptr;
  core::DatagramReceiveQueue queue_{4, 1, 1, true};
  core::DatagramQp* qps_[2] = {};
};

}  // namespace mrc::device
