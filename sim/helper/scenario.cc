#include "sim/helper/scenario.h"

#include <algorithm>

namespace mrc::sim {
namespace {

void add_indices(MapReader* m, const std::string& key, const std::string& text, uint32_t end,
                 std::vector<uint32_t>* out) {
  const std::string allowed = "all, a number, a range such as 0-3, or a list of these, below " + std::to_string(end);
  if (text == "all") {
    for (uint32_t i = 0; i < end; ++i) out->push_back(i);
    return;
  }
  char* rest = nullptr;
  const unsigned long low = std::strtoul(text.c_str(), &rest, 10);
  unsigned long high = low;
  if (rest == text.c_str() || text[0] < '0' || text[0] > '9') m->bad(key, allowed);
  if (*rest == '-') {
    const char* second = rest + 1;
    high = std::strtoul(second, &rest, 10);
    if (rest == second) m->bad(key, allowed);
  }
  if (*rest != 0 || high < low || high >= end) m->bad(key, allowed);
  for (unsigned long i = low; i <= high; ++i) out->push_back(static_cast<uint32_t>(i));
}

MeasureSpec read_measure(const YAML::Node& node, const Source& source) {
  MeasureSpec s;
  MapReader m(node, "measure", source);
  m.time("interval", &s.interval, 100 * kPsPerNs, kPsPerSecond);
  m.flag("trace", &s.trace);
  const YAML::Node windows = m.get("windows");
  if (windows.IsDefined()) {
    if (!windows.IsMap()) m.bad("windows", "a map of names to [from, to]");
    for (const auto& entry : windows) {
      Window w;
      w.name = entry.first.Scalar();
      const bool pair = entry.second.IsSequence() && entry.second.size() == 2;
      const auto from = pair ? parse_time(entry.second[0].Scalar()) : std::nullopt;
      const auto to = pair ? parse_time(entry.second[1].Scalar()) : std::nullopt;
      if (!from || !to || *from >= *to)
        refuse_value(source, entry.second, w.name, "two times with units, [from, to], from before to");
      w.from = *from;
      w.to = *to;
      s.windows.push_back(w);
    }
  }
  m.finish();
  return s;
}

// Events after the end would have no effect, silently: a mistake.
void check_limit(const ScenarioSpec& s, MapReader* m) {
  const std::string allowed = "before the limit of " + format_time(s.limit);
  for (size_t i = 0; i < s.workloads.size(); ++i)
    if (s.workloads[i].start >= s.limit) refuse_value(m->source(), m->get("workloads")[i]["start"], "start", allowed);
  for (size_t i = 0; i < s.faults.size(); ++i)
    if (s.faults[i].at >= s.limit) refuse_value(m->source(), m->get("faults")[i]["at"], "at", allowed);
  for (const Window& w : s.measure.windows)
    if (w.to > s.limit)
      refuse_value(m->source(), m->get("measure")["windows"][w.name], w.name,
                   "a window that ends by the limit of " + format_time(s.limit));
}

}  // namespace

std::vector<uint32_t> read_indices(MapReader* m, const std::string& key, uint32_t end) {
  std::vector<uint32_t> all;
  const YAML::Node n = m->get(key);
  if (!n.IsDefined()) return all;
  if (n.IsScalar()) {
    add_indices(m, key, n.Scalar(), end, &all);
  } else if (n.IsSequence()) {
    for (const YAML::Node& item : n) {
      if (!item.IsScalar()) m->bad(key, "a list of numbers and ranges");
      add_indices(m, key, item.Scalar(), end, &all);
    }
  } else {
    m->bad(key, "all, a number, a range or a list");
  }
  return all;
}

ScenarioSpec read_scenario(const YAML::Node& node, const Source& source, const std::string& folder) {
  ScenarioSpec s;
  MapReader m(node, "scenario", source);
  m.text("name", &s.name);
  m.text("about", &s.about);
  const YAML::Node fabric = m.get("fabric");
  if (!fabric.IsDefined()) m.missing("fabric");
  const ExpandedFabric expanded = expand_fabric(fabric, source, folder);
  s.fabric = read_fabric(expanded.node, expanded.source);
  s.transport = read_transport(m.get("transport"), source, s.fabric);
  m.each("workloads", [&](const YAML::Node& item) {
    s.workloads.push_back(read_workload(item, source, s.fabric, folder, s.workloads.size()));
  });
  if (s.workloads.empty()) m.missing("workloads");
  for (const WorkloadSpec& a : s.workloads)
    if (std::count_if(s.workloads.begin(), s.workloads.end(), [&](const WorkloadSpec& b) { return a.name == b.name; }) >
        1)
      refuse(source, m.get("workloads"), "key 'name': two workloads are called '" + a.name + "'");
  m.each("faults", [&](const YAML::Node& item) { s.faults.push_back(read_fault(item, source, s.fabric)); });
  s.measure = read_measure(m.get("measure"), source);
  m.time("limit", &s.limit, kPsPerUs, 3600 * kPsPerSecond);
  check_limit(s, &m);
  m.integer("seed", &s.seed, 0, INT64_MAX);
  for (const char* key : {"sweep", "repeat", "baseline", "checks", "picture"}) m.get(key);
  m.finish();
  return s;
}

}  // namespace mrc::sim
