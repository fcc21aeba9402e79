// The engine draws everything from its seed: a run can be repeated exactly, event by event.
#include "scenario/pair.h"

namespace mrc::scenario {
namespace {

std::vector<TraceRecord> run(uint64_t seed) {
  FabricConfig c;
  c.seed = seed;
  Pair p(c);
  for (int plane = 0; plane < 4; ++plane) {
    simnet::LinkConfig& l = p.fabric.net().link(plane);
    l.loss = 0.03;
    l.reorder = 0.1;
    l.duplicate = 0.05;
    l.jitter = Duration::microseconds(10);
  }
  std::vector<TraceRecord> trace;
  p.fabric.record(&trace);
  p.fabric.post_receives(1, p.link.qb, 0, 50);
  for (uint32_t i = 0; i < 50; ++i) p.write_imm(i, i * 20000, 20000, i);
  EXPECT_TRUE(p.until_sends(50));
  p.fabric.run_for(Duration::milliseconds(20));
  p.fabric.record(nullptr);
  return trace;
}

TEST(Determinism, same_seed_same_trace_other_seed_other) {
  const auto first = run(7);
  EXPECT_GT(first.size(), 500u);
  EXPECT_TRUE(first == run(7));
  EXPECT_FALSE(first == run(8));
}

}  // namespace
}  // namespace mrc::scenario
