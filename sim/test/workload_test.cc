// Workloads as graphs: the number of messages, their dependencies, and that every kind runs to its end.
#include "sim/helper/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <iterator>
#include <map>
#include <set>

#include "sim/helper/output.h"
#include "sim/helper/run.h"
#include "sim/test/scenario_folder.h"

namespace mrc::sim {
namespace {

ScenarioSpec scenario(const std::string& workload, const std::string& more = "") {
  const Source source{"w.yaml"};
  return read_scenario(load_yaml(source, "fabric: tiny\nlimit: 50ms\nworkloads: [" + workload + "]\n" + more), source,
                       ".");
}

TEST(Workload, ring_all_reduce_moves_twice_the_buffer_less_a_share) {
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

// The start of every message, when the one before in the ring was received or sent.
TEST(Workload, a_ring_goes_on_when_the_chunk_is_received_or_when_its_sender_is_done) {
  for (const char* kind : {"ring_all_reduce", "all_gather", "reduce_scatter"})
    for (const bool sent : {false, true}) {
      const RunResult r = run_scenario(
          scenario(std::string("{bytes: 160KB, kind: ") + kind + (sent ? ", next: sent}" : ", next: received}")));
      EXPECT_TRUE(r.summary["finished"].get<bool>());
      size_t followed = 0;
      for (const Op& op : r.graph.ops)
        for (uint32_t i = 0; i < op.next_count; ++i, ++followed) {
          const Successor& next = r.graph.next[op.first_next + i];
          EXPECT_EQ(next.when_sent, sent);
          EXPECT_EQ(r.graph.ops[next.op].progress.posted, sent ? op.progress.sent : op.progress.received) << kind;
          EXPECT_LT(op.progress.received, op.progress.sent);
        }
      EXPECT_EQ(followed, r.graph.ops.size() - 8);
    }
}

class TraceFile : public ScenarioFolder {
 protected:
  Graph graph(const std::string& csv, const std::string& keys = "") {
    write("t.csv", csv);
    return build_graph(load("fabric: tiny\nworkloads: [{kind: trace, file: t.csv" + keys + "}]\n").points[0].spec);
  }
  std::string why_not(const std::string& csv) {
    try {
      graph(csv);
    } catch (const ConfigError& e) {
      return std::string(e.what()).substr(folder_.size() + 1);
    }
    return "";
  }
};

TEST_F(TraceFile, has_times_and_dependencies) {
  const Graph g = graph(
      "# comment\ntime_us,src,dst,bytes,id,after\r\n0,0,1,1e6,a\n\n1.5,2,1,4096,b,\n2,1,3,0,,a b:sent\n3,4,5,1,c,b:received b\n"
      "4,1,2,3\n",
      ", next: sent, start: 1us");
  ASSERT_EQ(g.ops.size(), 5u);
  EXPECT_EQ(g.ops[0].bytes, 1000000u);
  EXPECT_EQ(g.ops[1].start, 2500000);
  EXPECT_EQ(g.ops[2].waits, 2u);
  EXPECT_EQ(g.ops[3].waits, 2u);
  EXPECT_EQ(g.ops[4].waits, 0u);
  ASSERT_EQ(g.ops[0].next_count, 1u);
  EXPECT_TRUE(g.next[g.ops[0].first_next].when_sent) << "the key `next`";
  ASSERT_EQ(g.ops[1].next_count, 3u);
  std::vector<bool> when_sent;
  for (uint32_t i = 0; i < 3; ++i) when_sent.push_back(g.next[g.ops[1].first_next + i].when_sent);
  EXPECT_EQ(when_sent, (std::vector<bool>{true, false, true}));
}

TEST_F(TraceFile, refuses_what_it_cannot_read_by_file_and_line) {
  const std::pair<const char*, const char*> cases[] = {
      {"nan,0,1,5", "t.csv:2: key 'time_us': value is 'nan', allowed: microseconds from 0 to 3.6e9"},
      {"inf,0,1,5", "value is 'inf'"},
      {"-1,0,1,5", "value is '-1'"},
      {"1e300,0,1,5", "value is '1e300'"},
      {"0,0,1,nan", "key 'bytes': value is 'nan'"},
      {"0,0,1,-5", "key 'bytes': value is '-5', allowed: bytes from 0 to 1e9"},
      {"0,0,1,2e9", "value is '2e9'"},
      {"0,-1,1,5", "key 'src': value is '-1', allowed: a NIC below 8"},
      {"0,0,8,5", "key 'dst': value is '8'"},
      {"0,1,1,5", "allowed: another NIC than src"},
      {"0,1x,2,5", "value is '1x'"},
      {"0,1,2", "line has 3 columns"},
      {"0,1,2,3,4,5,6", "line has 7 columns"},
      {"0,1,2,5,a", "t.csv:2: key 'id': 'a' is given twice, first in line 1"},
      {"0,1,2,5,b:c", "allowed: a word without ':'"},
      {"0,1,2,5,b\x01", "key 'id': allowed: a word without ':' and control characters"},
      {"0,1,2,5,b,c", "t.csv:2: key 'after': 'c' is not the id of an earlier line"},
      {"0,1,2,5,b,b", "'b' is not the id of an earlier line"},
      {"0,1,2,5,b,a:done", "'a:done' ends with ':done', allowed: :sent, :received"},
      {"time_us,src,dst,bytes", "t.csv:2: key 'time_us': value is 'time_us'"},
  };
  for (const auto& [line, why] : cases)
    EXPECT_THAT(why_not(std::string("0,0,1,5,a\n") + line + "\n"), testing::HasSubstr(why)) << line;
  EXPECT_THAT(why_not("src,dst,bytes,time_us\n"), testing::HasSubstr("t.csv:1: key 'time_us': value is 'src'"));
  EXPECT_THAT(why_not("time_us,dst,src,bytes\n"), testing::HasSubstr("t.csv:1: column 2 is called 'dst'"));
  EXPECT_THAT(why_not("0,0,1,5,a,b\n0,1,2,5,b,a\n"), testing::HasSubstr("t.csv:1: key 'after': 'b'")) << "a circle";
}

TEST_F(TraceFile, without_a_message_is_refused) {
  for (const char* text :
       {"", "\n\n", "# nothing\n", "time_us,src,dst,bytes\n", "\xEF\xBB\xBFtime_us,src,dst,bytes\r\n"})
    EXPECT_THAT(why_not(text), testing::HasSubstr("t.csv: workload 'trace' sends no message")) << text;
}

TEST_F(TraceFile, starts_what_is_due) {
  write("t.csv", "0,0,1,20000,a\n0,1,2,20000,b,a\n0,2,3,20000,c,a:sent\n200,3,4,20000,d,a\n");
  const RunResult r = run_scenario(load("fabric: tiny\nworkloads: [{kind: trace, file: t.csv}]\n").points[0].spec);
  const std::vector<Op>& ops = r.graph.ops;
  EXPECT_EQ(ops[1].progress.posted, ops[0].progress.received);
  EXPECT_EQ(ops[2].progress.posted, ops[0].progress.sent);
  EXPECT_EQ(ops[3].progress.posted, 200 * kPsPerUs);
  EXPECT_TRUE(r.summary["finished"].get<bool>());
}

TEST(Workload, a_permutation_has_no_fixed_point) {
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

TEST(Workload, every_kind_runs_to_its_end) {
  std::set<WorkloadKind> missing;
  for (size_t k = 0; k < std::size(kWorkloadWords); ++k) missing.insert(static_cast<WorkloadKind>(k));
  const std::string trace = testing::TempDir() + "/mrc-sim-trace-" + std::to_string(getpid()) + ".csv";
  write_file(trace, "time_us,src,dst,bytes\n0,0,1,9000\n5.5,3,2,1\n");
  for (const std::string& kind : std::vector<std::string>{
           "{kind: trace, file: " + trace + "}", "{kind: flow, bytes: 50KB, both_ways: true}",
           "{kind: permutation, bytes: 50KB, until: 30us}", "{kind: incast, bytes: 50KB, senders: 5}",
           "{kind: all_to_all, bytes: 9KB, rounds: 3}", "{kind: ring_all_reduce, bytes: 200KB, rounds: 2}",
           "{kind: tree_all_reduce, bytes: 30KB, rounds: 2}", "{kind: all_gather, bytes: 200KB}",
           "{kind: reduce_scatter, bytes: 200KB, shuffle: true}",
           "{kind: send_recv, bytes: 20KB, shift: 4, rounds: 6, depth: 2}",
           "{kind: random, bytes: 20KB, load: 0.3, duration: 50us}", "{kind: flow, bytes: 1}",
           "{kind: flow, bytes: 9KB}, {kind: all_to_all, name: second, nics: [4-7], bytes: 9KB}"})
    for (const char* transport :
         {"transport: {qps: 2}", "transport: {kind: roce, qps: 2}", "transport: {kind: roce, roce_recovery: selective}",
          "transport: {kind: roce, pfc: true, dcqcn: {enabled: false}}"}) {
      const ScenarioSpec spec = scenario(kind, transport);
      for (const WorkloadSpec& w : spec.workloads) missing.erase(w.kind);
      const RunResult r = run_scenario(spec);
      EXPECT_TRUE(r.summary["finished"].get<bool>()) << kind << transport << r.summary.dump(1);
      EXPECT_EQ(r.summary["network"]["unroutable"], 0) << kind;
      EXPECT_EQ(r.summary["qp_errors"], 0) << kind;
    }
  std::remove(trace.c_str());
  for (const WorkloadKind kind : missing) ADD_FAILURE() << kWorkloadWords[static_cast<size_t>(kind)] << " does not run";
}

TEST(Workload, forwarding_by_structured_ev_and_by_hash_arrives_too) {
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
TEST(Faults, every_kind_is_survived) {
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
