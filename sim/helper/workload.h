// Workloads become operations: messages from NIC to NIC that begin at a time or when other messages have been received.
// Every collective is such a graph, so one engine runs them all, several jobs at once on any NICs where they were
// placed.
//
//   flow            one pair, or one each way
//   permutation     every rank to one other: rank + shift, or drawn from the seed
//   incast          `senders` ranks (the first ones) to `dst`
//   all_to_all      every rank to every other, `bytes` per pair, partners in rotated order
//   ring_all_reduce, all_gather, reduce_scatter   ring steps of bytes / ranks
//   tree_all_reduce binary tree, up and down
//   send_recv       NCCL's: every rank to rank + shift, in chunks of which `depth` are in flight
//   random          Poisson arrivals of messages between random ranks at a load
//   trace           CSV: time_us,src,dst,bytes[,id[,after]]                          (trace_reader.h)
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "sim/helper/scenario.h"

namespace mrc::sim {

// How far the run is with an operation.
struct OpProgress {
  uint32_t parts_to_send = 0, parts_to_receive = 0;
  uint32_t repeats = 0;
  Ps posted = -1, sent = -1, received = -1;
  bool failed = false;
};

struct Op {
  uint32_t src = 0, dst = 0;
  uint64_t bytes = 0;
  Ps start = 0;                             // not before
  Ps until = 0;                             // sent again until then
  uint32_t job = 0;                         // index of the workload
  uint32_t waits = 0;                       // operations that must be done first; the run counts them down
  uint32_t first_next = 0, next_count = 0;  // into Graph::next
  OpProgress progress;
};

// An operation that waits for another one, until that has been sent and acknowledged, or until it has been received.
struct Successor {
  uint32_t op = 0;
  bool when_sent = false;
};

struct Graph {
  std::vector<Op> ops;
  std::vector<Successor> next;
};

// The NICs that each job's messages are for; as many sets as `jobs`.
std::vector<std::set<uint32_t>> receivers_by_job(const Graph& graph, size_t jobs);

// Throws ConfigError for a trace that cannot be read.
Graph build_graph(const ScenarioSpec& scenario);

}  // namespace mrc::sim
