// Probes that come back by themselves, over the loopback interface: the destination is the host's own address, as it is
// once the switches of a loop have shifted themselves out.
#include "loop_prober.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace mrc::mrcd {
namespace {

struct Looped {
  Looped() {
    const IpAddress self = IpAddress::parse("::1").value();
    config.planes.resize(1);
    config.planes[0].addr = self;
    const Status opened = prober.open(config, {{1, 0xe101, 0, self}, {1, 0xe101, 0xf101, self}});
    EXPECT_TRUE(opened) << opened.error().text;
  }
  std::vector<LoopProber::Outcome> collect() {
    std::vector<LoopProber::Outcome> outcomes;
    prober.collect([&](const LoopProber::Outcome& outcome) { outcomes.push_back(outcome); });
    return outcomes;
  }
  device::DeviceConfig config;
  LoopProber prober;
};

// An answer that is there as soon as the probe is sent has taken some time nevertheless.
TEST(LoopProber, rtt__is_never_zero) {
  Looped looped;
  for (size_t path : {0u, 1u, 0u}) looped.prober.send(path);
  const std::vector<LoopProber::Outcome> outcomes = looped.collect();
  ASSERT_EQ(outcomes.size(), 3u);
  for (const LoopProber::Outcome& outcome : outcomes) {
    EXPECT_TRUE(outcome.answered);
    EXPECT_GT(outcome.rtt.ns(), 0);
  }
  EXPECT_EQ(looped.prober.open_probes(), 0u);
}

// The answer arrived long before it was read: only the time on the path counts. The kernel begins to stamp what
// arrives a moment after it was asked to, so that the first ones may lack it.
TEST(LoopProber, rtt__is_without_the_time_in_the_socket) {
  constexpr int kTries = 50;
  constexpr auto kIdle = std::chrono::milliseconds(100);
  Looped looped;
  for (int i = 0; i < kTries; ++i) {
    looped.prober.send(0);
    std::this_thread::sleep_for(kIdle);
    const std::vector<LoopProber::Outcome> outcomes = looped.collect();
    ASSERT_EQ(outcomes.size(), 1u);
    EXPECT_TRUE(outcomes[0].answered);
    EXPECT_GT(outcomes[0].rtt.ns(), 0);
    if (outcomes[0].rtt.ns() < std::chrono::nanoseconds(kIdle).count()) return;
  }
  FAIL() << "what waits in the socket counts as on its way";
}

}  // namespace
}  // namespace mrc::mrcd
