// Requests to network interfaces by ioctl, in the namespace that the thread is in when the object is made.
#pragma once

#include <cstdint>
#include <string>

#include "fd.h"

namespace mrc::fabric {

class InterfaceRequests {
 public:
  InterfaceRequests();  // throws FabricError

  // Turns off one offload (ETHTOOL_STSO and its kin); one that the interface does not have is no error. Throws
  // FabricError.
  void turn_off(const std::string& interface, uint32_t feature) const;
  // The interface is up, has a carrier, and the kernel has activated its queues.
  bool can_send(const std::string& interface) const;

 private:
  Fd fd_;
};

}  // namespace mrc::fabric
