// A scenario file as a list of points: every combination of the values under `sweep`, `repeat` times with seeds counted
// up. And its checks, which read the points' summaries.
//
//     sweep:
//       transport.qps: [1, 4, 16]          # dotted path into the file; a number is the index of a list
//       cases:                             # several keys together, under a name
//         - {name: mrc}
//         - {name: dcqcn, transport.kind: roce}
//     repeat: 3
//     checks:
//       - {metric: jobs.main.fct_us.max, max: 180, where: {cases: mrc}}
//       - {metric: jobs.main.gbps, where: {cases: mrc}, over: {where: {cases: dcqcn}}, min: 1}     # a ratio
//
// A check on several points holds when it holds for each; `over` uses the mean of its points.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/helper/run.h"

namespace mrc::sim {

struct Point {
  std::vector<std::pair<std::string, std::string>> params;  // in file order; the seed last where there are repetitions
  std::string resolved;                                     // YAML of this point, fabric written out
  ScenarioSpec spec;
  std::string label() const;
};

using Where = std::vector<std::pair<std::string, std::string>>;

struct Check {
  std::string text;  // for people
  std::string metric;
  Where where;
  bool ratio = false;
  std::string over_metric;
  Where over_where;
  std::optional<double> min, max;
};

struct ScenarioFile {
  std::string path, text;
  std::vector<Point> points;
  std::vector<Check> checks;
};

// From the command line: dotted path, value in YAML, and what to call it in messages.
struct Override {
  std::string key, value, place;
};

// `overrides` change the file before anything of it is read; `text` is then what they make of it. Throws ConfigError.
ScenarioFile load_scenario_file(const std::string& path, const std::vector<Override>& overrides = {});

struct CheckResult {
  std::string text;
  bool passed = false;
  double value = 0;  // the worst one
  std::string why;
};

// `summaries` in the order of the points.
std::vector<CheckResult> run_checks(const ScenarioFile& file, const std::vector<Json>& summaries);

// Number at a dotted path of a summary; empty when there is none. true and false are 1 and 0.
std::optional<double> metric_of(const Json& summary, const std::string& path);

}  // namespace mrc::sim
