// Faults that overlap on one link or switch: each that is in force counts, and the end of one leaves the others.
#include "sim/helper/faults.h"

#include <gtest/gtest.h>

namespace mrc::sim {
namespace {

struct Seen {
  double loss, rate;
  Ps extra;
  bool stuck;
};

// The state of NIC 0's link on plane 0, up and down, and of its T0 at each of the times.
std::vector<std::pair<Seen, Seen>> watch(const std::string& faults, const std::vector<Ps>& times) {
  const Source source{"faults.yaml"};
  const ScenarioSpec s = read_scenario(
      load_yaml(source, "fabric: tiny\nlimit: 10ms\nworkloads: [{kind: flow}]\nfaults: [" + faults + "]\n"), source,
      ".");
  prepare_simulator();
  Network net(s.fabric, s.transport, s.seed);
  FaultDriver driver(s, &net);
  driver.schedule();
  std::vector<std::pair<Seen, Seen>> seen;
  const Link& link = net.nic_link(0, 0);
  for (const Ps t : times)
    schedule_in(t, [&] {
      const auto look = [&](const Port& p) {
        return Seen{p.loss(), p.rate(), p.extra_delay(), net.sw(0, Tier::kT0, 0).stuck()};
      };
      seen.push_back({look(*link.up), look(*link.down)});
    });
  stop_simulator_in(s.limit);
  run_simulator();
  destroy_simulator();
  return seen;
}

const std::vector<Ps> kTimes = {100 * kPsPerUs, 600 * kPsPerUs, 800 * kPsPerUs};

TEST(Faults, LossesThatOverlapAreIndependentAndEndAlone) {
  const auto seen = watch(
      "{kind: loss, where: nic_link, nic: 0, loss: 5%}, {kind: loss, where: nic_link, loss: 10%, direction: up, at: "
      "500us, for: 200us}",
      kTimes);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].first.loss, 0.05);
  EXPECT_DOUBLE_EQ(seen[1].first.loss, 1 - 0.95 * 0.9);
  EXPECT_EQ(seen[1].second.loss, 0.05) << "the second fault is of the other direction";
  EXPECT_EQ(seen[2].first.loss, 0.05);
}

TEST(Faults, DecayGoesOnUnderALossThatEnds) {
  const auto seen = watch(
      "{kind: decay, where: nic_link, loss_to: 20%, for: 400us}, {kind: loss, where: nic_link, loss: 10%, for: 700us}",
      kTimes);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_DOUBLE_EQ(seen[1].first.loss, 1 - 0.8 * 0.9);
  EXPECT_DOUBLE_EQ(seen[2].first.loss, 0.2);
}

TEST(Faults, TheSlowestRateCountsAndLatenciesAddUp) {
  const auto seen = watch(
      "{kind: slow, where: nic_link, rate: 50G}, {kind: slow, where: nic_link, rate: 10G, at: 500us, for: 200us}, "
      "{kind: latency, where: nic_link, extra: 1us}, {kind: latency, where: nic_link, extra: 2us, at: 500us, for: "
      "200us}",
      kTimes);
  ASSERT_EQ(seen.size(), 3u);
  for (const size_t i : {0u, 2u}) {
    EXPECT_EQ(seen[i].first.rate, 50e9);
    EXPECT_EQ(seen[i].first.extra, kPsPerUs);
  }
  EXPECT_EQ(seen[1].first.rate, 10e9);
  EXPECT_EQ(seen[1].first.extra, 3 * kPsPerUs);
}

TEST(Faults, AFaultThatEndsLeavesAHealthyLink) {
  const auto seen = watch(
      "{kind: slow, where: nic_link, rate: 50G, at: 200us, for: 200us}, {kind: loss, where: nic_link, loss: 1%, at: "
      "200us, for: 200us}, {kind: latency, where: nic_link, extra: 1us, at: 200us, for: 200us}",
      kTimes);
  for (const auto& [up, down] : seen) {
    EXPECT_EQ(up.rate, 100e9);
    EXPECT_EQ(up.loss, 0);
    EXPECT_EQ(down.extra, 0);
  }
}

TEST(Faults, ASwitchIsStuckUntilTheLastFaultEnds) {
  const auto seen =
      watch("{kind: stuck, where: t0, for: 700us}, {kind: stuck, where: t0, at: 50us, for: 200us}", kTimes);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen[0].first.stuck);
  EXPECT_TRUE(seen[1].first.stuck);
  EXPECT_FALSE(seen[2].first.stuck);
}

}  // namespace
}  // namespace mrc::sim
