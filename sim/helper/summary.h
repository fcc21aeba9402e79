// The summary of a run as JSON: per job completion times and rates, per window rates, sums of all counters. Units are
// in the names: _us microseconds, _gbps 1e9 bits of payload per second.
#pragma once

#include <vector>

#include "sim/helper/run.h"

namespace mrc::sim {

struct Snapshot {
  std::vector<uint64_t> goodput;  // per NIC, bytes
  std::vector<uint64_t> plane;    // all NICs, bytes received per plane
};
Snapshot snapshot(Network& network);

struct WindowSnapshots {
  Window window;
  Snapshot begin, end;
};

Json summarise(const ScenarioSpec& scenario, Network& network, const Graph& graph,
               const std::vector<WindowSnapshots>& windows, Ps end, bool finished, uint64_t unfinished);
std::vector<LinkRecord> link_records(Network& network);
std::string link_name(const Link& link);

}  // namespace mrc::sim
