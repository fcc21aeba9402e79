// VirtualHosts: processes on hosts of their own, each with its device "host1", "host2", ... of the public API, joined
// by a SimNet in virtual time. A process ends without a word and a new one begins at its addresses, as when a program
// crashes and is started again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/time.h"
#include "device/clock.h"
#include "device/config.h"
#include "device/shards.h"
#include "simnet/simnet.h"

namespace mrc::swarm {

inline constexpr int kMaxHosts = 3;

struct HostsConfig {
  int hosts = 2;
  int planes = 2;
  int evs_per_plane = 8;
  uint64_t seed = 1;
  device::Settings settings;
};

// One at a time in a program; devices that were opened in it are closed before it ends.
class VirtualHosts final : private device::Clock {
 public:
  explicit VirtualHosts(const HostsConfig& config);
  ~VirtualHosts();
  VirtualHosts(const VirtualHosts&) = delete;
  VirtualHosts& operator=(const VirtualHosts&) = delete;

  static const char* device_name(int host);
  simnet::SimNet& net() { return net_; }
  Instant now() const override { return now_; }

  // Nothing of this host leaves or arrives any more; its process can then be taken apart unheard.
  void crash(int host) { up_[static_cast<size_t>(host)] = false; }
  void restart(int host) { up_[static_cast<size_t>(host)] = true; }
  bool up(int host) const { return up_[static_cast<size_t>(host)]; }

  // To the next arrival, or by `max` if there is none before. What has arrived is delivered.
  void step(Duration max);

 private:
  class Path;  // the driver of a device

  static Result<std::shared_ptr<device::Shards>> start_device(const device::DeviceConfig& config);
  void wait(pollfd*, nfds_t, Duration max) const override;
  void pause(Duration time) const override { now_ = now_ + time; }
  device::DeviceConfig describe(int host, const device::Settings& settings) const;

  HostsConfig config_;
  simnet::SimNet net_;
  mutable Instant now_ = Instant::from_ns(1'000'000'000);
  std::vector<bool> up_;
  std::vector<Path*> paths_;  // by host; null: no device is open there
  uint64_t started_ = 0;      // devices, each with random numbers of its own
};

}  // namespace mrc::swarm
