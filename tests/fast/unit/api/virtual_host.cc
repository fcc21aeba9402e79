// What the API's programs find here: one device that reaches itself, in a time that passes as its clock is read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datapath/mem/mem_datapath.h"
#include "device/registry.h"

namespace mrc::device {
namespace {

class ReadClock final : public Clock {
 public:
  Instant now() const override { return now_ = now_ + Duration::nanoseconds(200); }
  void wait(pollfd*, nfds_t, Duration max) const override { now_ = now_ + max; }
  void pause(Duration time) const override { now_ = now_ + time; }

 private:
  mutable Instant now_ = Instant::from_ns(1'000'000'000);
};

Result<std::shared_ptr<Shards>> start_here(const DeviceConfig& config) {
  static const ReadClock clock;
  const auto planes = static_cast<uint32_t>(config.planes.size());
  PerEv<core::EvEntry> evs;
  for (uint32_t i = 0; i < 20 * planes; ++i) evs.push_back({1000 + i, plane_at(i % planes)});
  const std::shared_ptr<Device> device =
      Device::start_over(config, datapath::MemDatapath::make_loop(planes, 64), evs, 0, false, {}, clock);
  return std::make_shared<Shards>(std::vector{device});
}

class VirtualHost final : public ::testing::Environment {
  void SetUp() override {
    Settings settings;
    settings.seed = 1;
    settings.ctl_group = std::to_string(::getegid());  // any user may use the controller functions
    Config config;
    config.devices.push_back(loopback_config(settings, true));
    provide_devices(config, start_here);
  }
};

const ::testing::Environment* const host = ::testing::AddGlobalTestEnvironment(new VirtualHost);

}  // namespace
}  // namespace mrc::device
