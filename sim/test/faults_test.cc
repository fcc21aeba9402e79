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

TEST(Faults, losses_that_overlap_are_independent_and_end_alone) {
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

TEST(Faults, decay_goes_on_under_a_loss_that_ends) {
  const auto seen = watch(
      "{kind: decay, where: nic_link, loss_to: 20%, for: 400us}, {kind: loss, where: nic_link, loss: 10%, for: 700us}",
      kTimes);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_DOUBLE_EQ(seen[1].first.loss, 1 - 0.8 * 0.9);
  EXPECT_DOUBLE_EQ(seen[2].first.loss, 0.2);
}

TEST(Faults, the_slowest_rate_counts_and_latencies_add_up) {
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

TEST(Faults, a_fault_that_ends_leaves_a_healthy_link) {
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

TEST(Faults, a_switch_is_stuck_until_the_last_fault_ends) {
  const auto seen =
      watch("{kind: stuck, where: t0, for: 700us}, {kind: stuck, where: t0, at: 50us, for: 200us}", kTimes);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen[0].first.stuck);
  EXPECT_TRUE(seen[1].first.stuck);
  EXPECT_FALSE(seen[2].first.stuck);
}

TEST(Faults, marks_name_both_ends_and_every_flap_is_counted) {
  const Source source{"faults.yaml"};
  const ScenarioSpec s = read_scenario(
      load_yaml(source,
                "fabric: tiny\nworkloads: [{kind: flow}]\nfaults: [{kind: flap, where: t1, plane: 0, "
                "t1: 1, at: 1us, mean_up: 2us, mean_down: 1us, distribution: fixed, for: 6us}, {kind: loss, "
                "where: nic_link, plane: 1, nic: 0-1, loss: 1%, at: 2us, for: 1us}, {kind: down, where: "
                "nic_link, nic: 0, plane: 1, at: 11ms}]\n"
                "limit: 12ms\n"),
      source, ".");
  prepare_simulator();
  Network net(s.fabric, s.transport, s.seed);
  FaultDriver driver(s, &net);
  driver.schedule();
  stop_simulator_in(10 * kPsPerMs);
  run_simulator();
  destroy_simulator();
  std::vector<std::string> texts;
  for (const FaultMark& m : driver.marks()) texts.push_back(std::to_string(m.at / kPsPerUs) + " " + m.text);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"1 down plane 0 T1 1", "2 loss plane 1 NIC 0", "2 loss plane 1 NIC 1",
                                      "2 up plane 0 T1 1", "3 end of loss plane 1 NIC 0", "3 end of loss plane 1 NIC 1",
                                      "4 down plane 0 T1 1", "5 up plane 0 T1 1"}));
  EXPECT_EQ(driver.tally(FaultKind::kFlap).times, 2u);
  EXPECT_EQ(driver.tally(FaultKind::kFlap).switches.size(), 1u);
  EXPECT_EQ(driver.tally(FaultKind::kLoss).times, 2u);
  EXPECT_EQ(driver.tally(FaultKind::kLoss).links.size(), 2u);
  EXPECT_EQ(driver.tally(FaultKind::kDown).times, 0u) << "after the end";
}

}  // namespace
}  // namespace mrc::sim
