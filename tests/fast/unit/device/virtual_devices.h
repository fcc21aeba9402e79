// Two devices joined back to back, in a time of their own: without sockets, threads and the host's clock.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/planes.h"
#include "datapath/fault.h"
#include "datapath/mem/mem_datapath.h"
#include "device/config.h"
#include "device/device.h"
#include "harness/device_end.h"

namespace mrc::device {

class VirtualClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  void wait(pollfd*, nfds_t, Duration max) const override { pause(max); }
  void pause(Duration time) const override {
    now_ = now_ + time;
    if (meanwhile) meanwhile();
  }
  void advance(Duration by) { now_ = now_ + by; }

  std::function<void()> meanwhile;  // what others do while a device waits

 private:
  mutable Instant now_ = Instant::from_ns(1'000'000'000);
};

inline DeviceConfig virtual_config() {
  Settings settings;
  settings.linger_quiet_ms = 0;
  settings.seed = 1;
  return loopback_config(settings, false);
}

class VirtualPair {
 public:
  static constexpr Duration kStep = Duration::microseconds(5);

  // `faults` of what the first device sends. `depth` bursts per plane and direction fit.
  explicit VirtualPair(const DeviceConfig& config = virtual_config(), const std::string& faults = "",
                       uint32_t depth = 64) {
    const auto planes = static_cast<uint32_t>(config.planes.size());
    PerEv<core::EvEntry> evs;
    for (uint32_t i = 0; i < 4 * planes; ++i) evs.push_back({1000 + i, plane_at(i % planes)});
    auto [near, far] = datapath::MemDatapath::make_pair(planes, depth);
    std::unique_ptr<datapath::Datapath> sends = std::move(near);
    if (!faults.empty()) sends = datapath::make_fault_datapath(std::move(sends), *datapath::parse_fault(faults), {});
    a = Device::start_over(config, std::move(sends), evs, 0, false, {}, clock);
    b = Device::start_over(config, std::move(far), evs, 1, false, {}, clock);
  }
  ~VirtualPair() { clock.meanwhile = nullptr; }

  // Two queue pairs that know each other.
  void connect(End* from, End* to) const {
    from->connect(*to, b->config().gids[3]);
    to->connect(*from, a->config().gids[3]);
  }
  void step() {
    a->progress();
    b->progress();
    clock.advance(kStep);
  }
  // False: not within that time.
  bool run_until(const std::function<bool()>& holds, Duration max = Duration::seconds(1)) {
    const Instant end = clock.now() + max;
    while (!holds() && clock.now() < end) step();
    return holds();
  }

  VirtualClock clock;  // outlives the devices
  std::shared_ptr<Device> a, b;
};

}  // namespace mrc::device
