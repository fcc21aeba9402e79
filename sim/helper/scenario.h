// ScenarioSpec: the checked content of a scenario file. A file is a map:
//
//     fabric:     name of a built-in one, path of a file, or a map            (fabric/fabric.h)
//     transport:  kind mrc or roce, and its settings                          (transport_spec.cc)
//     workloads:  list of maps, each with a kind                              (workload.h)
//     faults:     list of maps, each with a kind                              (faults.h)
//     measure:    interval of the time series, windows to be averaged over
//     limit, seed, repeat, sweep, baseline, checks                                    (sweep.h)
//
// Times count from the start of the run. Unknown keys and values are refused with file, line, key and the allowed ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/fabric/fabric.h"
#include "sim/helper/network.h"

namespace mrc::sim {

// Every kind with its word in scenario files. Reader, messages and tests have their lists from here; workload.h
// describes the kinds.
#define MRC_WORKLOAD_KINDS(K)          \
  K(kFlow, "flow")                     \
  K(kPermutation, "permutation")       \
  K(kIncast, "incast")                 \
  K(kAllToAll, "all_to_all")           \
  K(kRingAllReduce, "ring_all_reduce") \
  K(kTreeAllReduce, "tree_all_reduce") \
  K(kAllGather, "all_gather")          \
  K(kReduceScatter, "reduce_scatter")  \
  K(kSendRecv, "send_recv")            \
  K(kRandom, "random")                 \
  K(kTrace, "trace")
#define MRC_WORKLOAD_ENUMERATOR(enumerator, word) enumerator,
enum class WorkloadKind : uint8_t { MRC_WORKLOAD_KINDS(MRC_WORKLOAD_ENUMERATOR) };
#undef MRC_WORKLOAD_ENUMERATOR
#define MRC_WORKLOAD_WORD(enumerator, word) word,
inline constexpr const char* kWorkloadWords[] = {MRC_WORKLOAD_KINDS(MRC_WORKLOAD_WORD)};  // by WorkloadKind
#undef MRC_WORKLOAD_WORD

struct WorkloadSpec {
  WorkloadKind kind = WorkloadKind::kFlow;
  std::string name;
  std::vector<uint32_t> nics;  // the ranks, in order; empty: all
  bool shuffle = false;        // ranks in an order drawn from the seed
  uint64_t bytes = 1000000;
  Ps start = 0;
  Ps connect = -1;         // when all its QPs connect; -1: each with its first message
  Ps until = 0;            // repeat every message until then (flow, permutation, send_recv, incast)
  uint32_t depth = 1;      // messages outstanding per pair
  uint32_t rounds = 1;     // how often a collective is repeated, one after the other
  bool both_ways = false;  // flow, send_recv: the reverse direction too
  uint32_t src = 0, dst = 1;
  uint32_t senders = 7;    // incast; fewer if there are fewer NICs
  uint32_t shift = 0;      // permutation, send_recv: partner = rank + shift; 0: permutation drawn from the seed, ring
  double load = 0.5;       // random: share of the NICs' rate
  Ps duration = kPsPerMs;  // random: arrivals
  bool next_when_sent = false;  // ring steps, trace: what follows a message begins when it is sent, else when received
  std::string file;             // trace
};

enum class FaultKind : uint8_t { kDown, kStuck, kLoss, kSlow, kLatency, kFlap, kDecay, kBackground };

struct FaultSpec {
  FaultKind kind = FaultKind::kDown;
  std::string where;                           // nic_link, spine_link, t0, t1
  std::vector<uint32_t> planes, nics, t0, t1;  // empty: all
  double sample = 1;                           // share of the matching targets, drawn from the seed; 0: none
  uint32_t count = 0;                          // or this number of them
  Ps at = 0, duration = 0;                     // 0: until the end
  Ps step = 0;                                 // delay of each further target
  double loss = 0, loss_to = 0;
  double rate = 0;
  Ps extra = 0;
  Ps mean_up = 0, mean_down = 0;
  bool exponential = true;
  bool toward_high = true, toward_low = true;  // directions; high is T0 for NIC links, T1 for spine links
};

struct Window {
  std::string name;
  Ps from = 0, to = 0;
};

struct MeasureSpec {
  Ps interval = 10 * kPsPerUs;
  std::vector<Window> windows;
  bool trace = false;  // engine events into trace/
};

struct ScenarioSpec {
  std::string name = "unnamed", about;
  FabricSpec fabric;
  TransportConfig transport;
  std::vector<WorkloadSpec> workloads;
  std::vector<FaultSpec> faults;
  MeasureSpec measure;
  Ps limit = kPsPerSecond;  // simulated time after which a run is ended
  uint64_t seed = 1;
};

// `folder`: where relative paths in the file start. Reads everything but sweep, repeat, baseline and checks,
// which are the sweep's.
ScenarioSpec read_scenario(const YAML::Node& node, const Source& source, const std::string& folder);

// Parts of it.
TransportConfig read_transport(const YAML::Node& node, const Source& source, const FabricSpec& fabric);
WorkloadSpec read_workload(const YAML::Node& node, const Source& source, const FabricSpec& fabric,
                           const std::string& folder, size_t index);
FaultSpec read_fault(const YAML::Node& node, const Source& source, const FabricSpec& fabric);

// "3", "0-7", "all" or a list of those; every number below `end`.
std::vector<uint32_t> read_indices(MapReader* m, const std::string& key, uint32_t end);

}  // namespace mrc::sim
