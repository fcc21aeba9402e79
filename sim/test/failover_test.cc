// Time until a failed path is left: from the first loss that the engine infers on it to the last packet sent on it, by
// both ends.
#include <gtest/gtest.h>

#include "sim/fabric/plan.h"
#include "sim/helper/run.h"

namespace mrc::sim {
namespace {

class Failover : public testing::TestWithParam<int> {};

TEST_P(Failover, a_dead_link_is_left_within_three_round_trips_of_the_first_sign) {
  constexpr uint32_t kPlane = 2, kT1 = 1, kSrc = 0;
  const Source source{"failover"};
  ScenarioSpec s = read_scenario(load_yaml(source, R"(
fabric: {base: cluster64, planes: 8, t0: 4, nics_per_t0: 4}
workloads: [{kind: flow, name: main, src: 0, dst: 12, bytes: 1MB, depth: 8, until: 900us}]
faults: [{kind: down, where: spine_link, plane: 2, t0: 0, t1: 1, at: 300us}]
limit: 5ms
)"),
                                 source, ".");
  s.seed = static_cast<uint64_t>(GetParam());
  const FabricPlan plan(s.fabric);
  // A round trip under this load: the age of a packet whose loss is inferred from packets that overtook it.
  Ps first_loss = -1, round_trip = -1, last_state = -1, last_data = -1;
  RunOptions options;
  options.tracer = [&](uint32_t nic, const core::TraceEntry& entry) {
    if (nic != kSrc) return;
    const Ps t = from_instant(entry.at);
    if (const auto lost = entry.get<core::event::Lost>(); lost && first_loss < 0) {
      first_loss = t;
      round_trip = static_cast<Ps>(lost->age.ns()) * 1000;
    }
    const auto changed = entry.get<core::event::EvState>();
    if (changed && changed->state == core::EvState::kAssumedBad) last_state = t;
    const auto sent = entry.get<core::event::TxData>();
    if (sent && sent->plane.value() == kPlane && plan.t1_of(sent->ev) == kT1) last_data = t;
  };
  const RunResult r = run_scenario(s, options);
  ASSERT_TRUE(r.summary["finished"].get<bool>());
  EXPECT_EQ(r.summary["qp_errors"], 0);
  ASSERT_GT(first_loss, 300 * kPsPerUs);
  ASSERT_GT(last_state, 0);
  EXPECT_LT(round_trip, 3 * s.fabric.base_rtt());
  // Both EVs of the path are retired, and with them the path.
  EXPECT_LE(last_data - first_loss, 3 * round_trip);
  EXPECT_LE(last_state - first_loss, 3 * round_trip);
  // Data of one end, the other's answers, and probes, which are few: the answers leave the path with the data.
  EXPECT_LT(r.summary["network"]["lost_down"].get<int>(), 30);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Failover, testing::Range(1, 21));

}  // namespace
}  // namespace mrc::sim
