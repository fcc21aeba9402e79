// One run of one scenario: builds the network, posts the operations as their dependencies allow, carries out the
// faults, samples, and returns the result. Deterministic: the result is independent of the machine, and the same
// scenario with the same seed gives the same bytes.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/helper/faults.h"
#include "sim/helper/scenario.h"
#include "sim/helper/series.h"
#include "sim/helper/workload.h"

namespace mrc::sim {

using Json = nlohmann::ordered_json;

struct LinkRecord {  // links that lost, cut or marked something
  std::string name;
  uint32_t plane = 0;
  Link::Kind kind = Link::Kind::kNic;
  uint32_t low = 0, high = 0;
  uint64_t lost = 0, trimmed = 0, marked = 0, dropped = 0;
  int64_t max_queue = 0;
};

struct RunResult {
  Json summary;
  Graph graph;
  std::vector<Row> rows;
  EvMap ev_map;
  std::vector<FaultMark> marks;
  std::vector<LinkRecord> links;
  // Of the machine, not of the simulation; kept out of the summary.
  double wall_seconds = 0;
  uint64_t events = 0, packets = 0;
};

struct RunOptions {
  // Called a few times a second of wall time: simulated time, events so far, share of the operations done.
  std::function<void(Ps, uint64_t, double)> progress;
  MrcNic::Tracer tracer;
};

RunResult run_scenario(const ScenarioSpec& scenario, const RunOptions& options = {});

}  // namespace mrc::sim
