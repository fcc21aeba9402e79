// Refusal of checks of metrics that do not exist. The names come from a summary of the same structure: that of a run of
// a few packets on a small fabric, with the planes, the jobs, the windows, the kinds of faults and the transport of the
// scenario.
#include <absl/strings/str_join.h>

#include <algorithm>
#include <map>

#include "append_item.h"
#include "base/nearest.h"
#include "sim/helper/sweep.h"

namespace mrc::sim {
namespace {

ScenarioSpec small_alike(const ScenarioSpec& s) {
  ScenarioSpec small;
  small.transport.kind = s.transport.kind;
  small.fabric.planes = s.fabric.planes;
  small.fabric.t0 = small.fabric.nics_per_t0 = 2;
  small.fabric.t1 = 1;
  small.fabric.ev.count = s.fabric.planes;
  for (const WorkloadSpec& w : s.workloads) {
    WorkloadSpec flow;
    flow.name = w.name;
    flow.bytes = 1;
    flow.until = w.until != 0 ? 1 : 0;
    small.workloads.push_back(flow);
  }
  for (const Window& w : s.measure.windows) small.measure.windows.push_back({w.name, kPsPerUs, 2 * kPsPerUs});
  for (const FaultSpec& f : s.faults) {
    FaultSpec never;
    never.kind = f.kind;
    never.where = "t0";
    never.at = small.limit + kPsPerSecond;
    small.faults.push_back(never);
  }
  return small;
}

// Two scenarios with the same have summaries with the same keys.
std::string structure(const ScenarioSpec& s) {
  std::string text = std::to_string(static_cast<int>(s.transport.kind)) + " " + std::to_string(s.fabric.planes);
  for (const WorkloadSpec& w : s.workloads) text += "\n" + w.name + (w.until != 0 ? "\n+" : "\n-");
  for (const Window& w : s.measure.windows) text += "\n[" + w.name;
  for (const FaultSpec& f : s.faults) text += "\n!" + std::to_string(static_cast<int>(f.kind));
  return text;
}

// What is allowed where the path leaves the summary.
std::string why_not(const Json& summary, const std::string& path) {
  const Json* j = &summary;
  std::string before;
  for (const std::string& part : split_path(path)) {
    const Json* next = nullptr;
    std::vector<std::string> names;
    if (j->is_object())
      for (const auto& [name, value] : j->items()) names.push_back(name);
    if (j->is_array())
      for (size_t i = 0; i < j->size(); ++i) names.push_back(std::to_string(i));
    if (const auto at = std::find(names.begin(), names.end(), part); at != names.end())
      next = j->is_object() ? &j->at(part) : &j->at(static_cast<size_t>(at - names.begin()));
    if (next == nullptr) {
      if (names.empty()) return "'" + before + "' has no parts";
      const std::string meant = nearest(part, names);
      return "'" + part + "' is not in " + (before.empty() ? "the summary" : "'" + before + "'") +
             (meant.empty() ? "." : ", did you mean '" + meant + "'?") + " Allowed: " + absl::StrJoin(names, ", ");
    }
    append_item(&before, part, ".");
    j = next;
  }
  return "it is not a number" + std::string(j->is_structured() ? ", but a group of several" : "");
}

class Structures {
 public:
  const Json& of(const ScenarioSpec& s) {
    Json& j = all_[structure(s)];
    if (j.is_null()) j = run_scenario(small_alike(s)).summary;
    return j;
  }

 private:
  std::map<std::string, Json> all_;
};

}  // namespace

void check_metrics(const ScenarioFile& file) {
  Structures structures;
  const auto require = [&](const ScenarioSpec& s, const std::string& metric, const std::string& place) {
    const Json& summary = structures.of(s);
    if (!metric_of(summary, metric))
      throw ConfigError(place + ": metric '" + metric + "' does not exist: " + why_not(summary, metric));
  };
  for (const Check& c : file.checks)
    for (const Point& p : file.points) {
      if (matches(p, c.where)) require(p.spec, c.metric, c.place);
      if (!c.ratio) continue;
      if (c.over_baseline && p.baseline) require(file.points[*p.baseline].spec, c.over_metric, c.over_place);
      if (!c.over_baseline && matches(p, c.over_where)) require(p.spec, c.over_metric, c.over_place);
    }
}

}  // namespace mrc::sim
