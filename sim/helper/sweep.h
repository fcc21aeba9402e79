// A scenario file as a list of points: every combination of the values under `sweep`, `repeat` times with seeds counted
// up. And its checks, which read the points' summaries.
//
//     sweep:
//       transport.qps: [1, 4, 16]          # dotted path into the file; a number is the index of a list
//       cases:                             # several keys together, under a name; further such lists are cases.WORD
//         - {name: mrc}
//         - {name: dcqcn, transport.kind: roce}
//     repeat: 3
//     baseline: true                       # each point twice: without its faults (run healthy), and with (run faulty);
//                                          # points that differ in faults alone share the first run
//     checks:
//       - {metric: jobs.main.fct_us.max, max: 180, where: {cases: mrc}}
//       - {metric: jobs.main.gbps, where: {cases: mrc}, over: {where: {cases: dcqcn}}, min: 1}     # a ratio
//     picture: {job: main, where: {transport.qps: 1}}   # a curve per point: what the job's receivers get over time
//
// A check on several points holds when it holds for each; `over` uses the same point, with `where` the mean of those
// that match, or with `baseline: true` the run of the same point without faults. With a baseline a check means the runs
// with faults, unless `where` names `run`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/helper/run.h"

namespace mrc::sim {

constexpr const char* kSeed = "seed";  // the parameter by which repetitions of a point differ

using Params = std::vector<std::pair<std::string, std::string>>;

struct Point {
  Params params;             // in file order; the seed last where there are repetitions
  std::vector<Params> also;  // of a run that is the baseline of several points: those of each, params what they share
  std::string resolved;      // YAML of this point, fabric written out
  ScenarioSpec spec;
  std::optional<size_t> baseline;  // index of the point that is this one without faults
  std::string label() const;       // of all parameters
  std::string setting() const;     // of those but `run`; empty when there are none
};

// Keys of `sweep` and their values; of several values of one key any.
using Where = std::vector<std::pair<std::string, std::string>>;

struct Check {
  std::string text;  // for people
  std::string metric;
  Where where;
  bool ratio = false;
  std::string over_metric;
  Where over_where;
  bool over_baseline = false;
  std::string place, over_place;  // of the metrics in the file, for messages
  std::optional<double> min, max;
};

// What the overview shows in place of its own choice: the rate of one job's receivers.
struct Picture {
  std::string job;
  Where where;
};

struct ScenarioFile {
  std::string path, text;
  std::vector<Point> points;
  std::vector<Check> checks;
  std::optional<Picture> picture;
};

// From the command line: dotted path, value in YAML, and what to call it in messages.
struct Override {
  std::string key, value, place;
};

// `overrides` change the file before anything of it is read, and of the keys of `sweep` that `only` names, only its
// values are left; checks and a picture of other values are dropped. `text` is what these make of it. Throws
// ConfigError.
ScenarioFile load_scenario_file(const std::string& path, const std::vector<Override>& overrides = {},
                                const Where& only = {});

struct CheckResult {
  std::string text;
  bool passed = false;
  double value = 0;  // the worst one
  std::string why;
};

// `summaries` in the order of the points.
std::vector<CheckResult> run_checks(const ScenarioFile& file, const std::vector<Json>& summaries);

// Throws ConfigError for a check of a metric that no run of its points can have.
void check_metrics(const ScenarioFile& file);

// Number at a dotted path of a summary; empty when there is none. true and false are 1 and 0.
std::optional<double> metric_of(const Json& summary, const std::string& path);
std::vector<std::string> split_path(const std::string& path);  // at the dots
bool matches(const Point& point, const Where& where);

}  // namespace mrc::sim
