// SendSlots: the taken places of a send queue. A place is occupied by posting and freed when a completion that covers
// it has been polled, without the device's lock [API-POST-3].
#pragma once

#include <atomic>
#include <cstdint>

#include "device/device.h"

namespace mrc::api {

class SendSlots {
 public:
  bool take(uint32_t max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock) {
    if (taken_.load(std::memory_order_acquire) >= max) return false;
    taken_.fetch_add(1, std::memory_order_relaxed);  // posting is serialised by the device's lock
    return true;
  }
  void release(uint32_t n) { taken_.fetch_sub(n, std::memory_order_release); }
  void clear() { taken_.store(0); }

 private:
  std::atomic<uint32_t> taken_{0};
};

}  // namespace mrc::api
