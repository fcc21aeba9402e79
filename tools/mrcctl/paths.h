// Which switches the paths of this host's device pass, by the same configuration from which the device is opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datapath/srv6/plan.h"
#include "device/config.h"
#include "mrc_soft.h"

namespace mrcctl {

struct PathNames {
  std::string t0, t1, far_t0;  // uSIDs; empty where they are not known, t1 also on paths below one T0
};

class Paths {
 public:
  explicit Paths(const std::string& device);  // empty: the first one; throws Error
  const mrc::device::DeviceConfig& config() const { return config_; }
  // Entry `n` (from 0) among the EVs of this port, towards a peer.
  PathNames names(uint8_t port, uint32_t n, const union ibv_gid& peer) const;
  // T0 of this host on a port.
  std::string own_t0(uint8_t port) const;

 private:
  mrc::device::DeviceConfig config_;
  std::shared_ptr<const mrc::datapath::Srv6Plan> plan_;
  std::vector<std::string> own_t0s_;
};

}  // namespace mrcctl
