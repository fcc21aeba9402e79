// Observers: the contexts of a device receive the engine's reports here. Called with the device lock held; they must
// not call back into the device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/types.h"
#include "ctl/profile_store.h"
#include "device/device_lock.h"

namespace mrc::device {

// One per context.
class DeviceObserver {
 public:
  virtual void on_port_event(PlaneId plane, core::AsyncEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) = 0;
  // Answer to start_endpoint_op, or its absence: rtt infinite.
  virtual void on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) = 0;
  // An EV of a profile that asks for it has changed state, here or in another process of this host; `losses` on its
  // path since the profile was last notified.
  virtual void on_ev_change(const ctl::EvChange& /*change*/, uint64_t /*losses*/)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {}

 protected:
  ~DeviceObserver() = default;
};

class Observers {
 public:
  void add(DeviceObserver* observer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { all_.push_back(observer); }
  void remove(DeviceObserver* observer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    all_.erase(std::remove(all_.begin(), all_.end(), observer), all_.end());
  }
  void on_port_event(PlaneId plane, core::AsyncEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    for (DeviceObserver* observer : all_) observer->on_port_event(plane, event);
  }
  void on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    for (DeviceObserver* observer : all_) observer->on_endpoint_response(id, plane, rtt);
  }
  void on_ev_change(const ctl::EvChange& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    if (!change.wanted) return;
    for (DeviceObserver* observer : all_) observer->on_ev_change(change, change.losses);
  }

 private:
  std::vector<DeviceObserver*> all_;
};

}  // namespace mrc::device
