// Workloads as graphs: how many messages, who waits for whom, and that every kind runs to its end.
#include "sim/helper/workload.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/helper/run.h"

namespace mrc::sim {
namespace {

ScenarioSpec scenario(const std::string& workload, const std::string& more = "") {
  const Source source{"w.yaml"};
  return read_scenario(load_yaml(source, "fabric: tiny\nlimit: 50ms\nworkloads: [" + workload + "]\n" + more), source,
                       ".");
}

TEST(Workload, RingAllReduceMovesTwiceTheBufferLessAShare) {
  const Graph g = build_graph(scenario("{kind: ring_all_reduce, bytes: 800KB}"));
  EXPECT_EQ(g.ops.size(), 8u * 14);
  for (const Op& op : g.ops) {
    EXPECT_EQ(op.bytes, 100000u);
    EXPECT_EQ(op.dst, (op.src + 1) % 8);
  }
  size_t free = 0;
  for (const Op& op : g.ops) free += op.waits == 0;
  EXPECT_EQ(free, 8u);
}

TEST(Workload, APermutationHasNoFixedPoint) {
  const Graph g = build_graph(scenario("{kind: permutation, bytes: 1KB}"));
  std::set<uint32_t> sources, destinations;
  for (const Op& op : g.ops) {
    EXPECT_NE(op.src, op.dst);
    sources.insert(op.src);
    destinations.insert(op.dst);
  }
  EXPECT_EQ(sources.size(), 8u);
  EXPECT_EQ(destinations.size(), 8u);
}

TEST(Workload, EveryKindRunsToItsEnd) {
  for (const char* kind :
       {"{kind: flow, bytes: 50KB, both_ways: true}", "{kind: permutation, bytes: 50KB, until: 30us}",
        "{kind: incast, bytes: 50KB, senders: 5}", "{kind: all_to_all, bytes: 9KB, rounds: 3}",
        "{kind: ring_all_reduce, bytes: 200KB, rounds: 2}", "{kind: tree_all_reduce, bytes: 30KB, rounds: 2}",
        "{kind: all_gather, bytes: 200KB}", "{kind: reduce_scatter, bytes: 200KB, shuffle: true}",
        "{kind: send_recv, bytes: 20KB, shift: 4, rounds: 6, depth: 2}",
        "{kind: random, bytes: 20KB, load: 0.3, duration: 50us}", "{kind: flow, bytes: 1}",
        "{kind: flow, bytes: 9KB}, {kind: all_to_all, name: second, nics: [4-7], bytes: 9KB}"})
    for (const char* transport : {"transport: {qps: 2}", "transport: {kind: roce, qps: 2}",
                                  "transport: {kind: roce, pfc: true, dcqcn: {enabled: false}}"}) {
      const RunResult r = run_scenario(scenario(kind, transport));
      EXPECT_TRUE(r.summary["finished"].get<bool>()) << kind << transport << r.summary.dump(1);
      EXPECT_EQ(r.summary["network"]["unroutable"], 0) << kind;
      EXPECT_EQ(r.summary["qp_errors"], 0) << kind;
    }
}

TEST(Workload, ForwardingByStructuredEvAndByHashArrivesToo) {
  for (const char* forwarding : {"stev", "ecmp"}) {
    const Source source{"w.yaml"};
    const ScenarioSpec s =
        read_scenario(load_yaml(source, std::string("fabric: {base: tiny, switch: {forwarding: ") + forwarding +
                                            "}}\nworkloads: [{kind: all_to_all, bytes: 30KB}]\n"),
                      source, ".");
    const RunResult r = run_scenario(s);
    EXPECT_TRUE(r.summary["finished"].get<bool>());
    EXPECT_EQ(r.summary["network"]["unroutable"], 0);
  }
}

// Every kind of fault, one after the other, on a fabric that stays connected: everything arrives in the end.
TEST(Faults, EveryKindIsSurvived) {
  for (const char* fault :
       {"{kind: down, where: spine_link, plane: 0, at: 20us, for: 40us}",
        "{kind: down, where: t1, plane: 1, t1: 0, at: 20us}",
        "{kind: down, where: t0, plane: 1, t0: 0, at: 20us, for: 100us}",
        "{kind: down, where: nic_link, plane: 0, nic: 0, at: 20us}",
        "{kind: stuck, where: t1, plane: 0, t1: 1, at: 20us}", "{kind: loss, where: nic_link, loss: 1%}",
        "{kind: slow, where: spine_link, count: 2, rate: 10G, at: 5us, for: 50us}",
        "{kind: latency, where: spine_link, plane: 1, extra: 3us, at: 5us, for: 50us}",
        "{kind: flap, where: nic_link, plane: 1, nic: 0-3, mean_up: 30us, mean_down: 20us, for: 300us}",
        "{kind: decay, where: nic_link, plane: 0, nic: 0, for: 100us, loss_to: 20%}",
        "{kind: background, where: spine_link, mean_up: 300us, mean_down: 20us, for: 300us}"}) {
    const RunResult r = run_scenario(
        scenario("{kind: permutation, bytes: 300KB, shift: 4, until: 200us}", "faults: [" + std::string(fault) + "]"));
    EXPECT_TRUE(r.summary["finished"].get<bool>()) << fault << r.summary.dump(1);
    EXPECT_EQ(r.summary["qp_errors"], 0) << fault;
  }
}

}  // namespace
}  // namespace mrc::sim
