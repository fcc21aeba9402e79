// The device's lock: serialises engine and datapath of one device. To clang's analysis the locks of all devices are one
// capability, `device_lock`: the code that needs it is spread over layers that reach the device by different names
// (Device, its parts, an observer's callback), which the analysis cannot identify as the same object. It therefore
// checks that a device's lock is held, not which; only the fork handlers (registry.cc) and changes of profiles
// (shard_control.cc) use two devices at the same time.
#pragma once

#include <mutex>

#include "mutex.h"

namespace mrc::device {

struct ABSL_LOCKABLE DeviceLockRole {};
inline constexpr DeviceLockRole device_lock;  // in annotations only

// Not analysed inside: the std mutex is locked there, and the role represents it.
class DeviceMutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION(device_lock) ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true, device_lock) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return mutex_.try_lock();
  }
  void unlock() ABSL_UNLOCK_FUNCTION(device_lock) ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE DeviceLock {
 public:
  explicit DeviceLock(DeviceMutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(device_lock) : mutex_(mutex) { mutex_.lock(); }
  // Takes over a lock that the caller holds, for example by try_lock().
  DeviceLock(DeviceMutex& mutex, std::adopt_lock_t) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) : mutex_(mutex) {}
  ~DeviceLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  DeviceMutex& mutex_;
};

}  // namespace mrc::device
