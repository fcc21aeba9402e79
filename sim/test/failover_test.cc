// How soon a dead path is left: from the first loss that the engine infers on it to the last request packet sent on it.
#include <gtest/gtest.h>

#include "sim/helper/run.h"

namespace mrc::sim {
namespace {

TEST(Failover, ADeadLinkIsLeftWithinThreeRoundTripsOfTheFirstSign) {
  const Source source{"failover"};
  const ScenarioSpec s = read_scenario(load_yaml(source, R"(
fabric: {base: cluster64, planes: 8, t0: 4, nics_per_t0: 4}
workloads: [{kind: flow, name: main, src: 0, dst: 12, bytes: 1MB, depth: 8, until: 900us}]
faults: [{kind: down, where: spine_link, plane: 2, t0: 0, t1: 1, at: 300us}]
limit: 5ms
)"),
                                       source, ".");
  Ps first_loss = -1, first_state = -1, last_state = -1;
  RunOptions options;
  options.tracer = [&](uint32_t nic, const core::TraceEntry& entry) {
    if (nic != 0) return;
    const Ps t = from_instant(entry.at);
    const core::TraceEvent e = entry.event;
    if (e == core::TraceEvent::kLost && first_loss < 0) first_loss = t;
    if (e == core::TraceEvent::kEvState && entry.b == static_cast<uint64_t>(core::EvState::kAssumedBad)) {
      if (first_state < 0) first_state = t;
      last_state = t;
    }
  };
  const RunResult r = run_scenario(s, options);
  ASSERT_TRUE(r.summary["finished"].get<bool>());
  EXPECT_EQ(r.summary["qp_errors"], 0);
  ASSERT_GT(first_loss, 300 * kPsPerUs);
  ASSERT_GT(first_state, 0);
  // Both EVs of the path are retired, and with them the path; what dies on the link later are probes, which are few.
  const Ps rtt = s.fabric.base_rtt();
  EXPECT_LE(last_state - first_loss, 3 * rtt);
  EXPECT_LT(r.summary["network"]["lost_down"].get<int>(), 60);
}

}  // namespace
}  // namespace mrc::sim
