#include "sim/helper/overview.h"

#include <absl/strings/match.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "append_item.h"
#include "sim/helper/report.h"
#include "sim/helper/svg.h"

namespace mrc::sim {
namespace {

// Three figures: the sentence is for people.
std::string figure(double v) {
  char out[32];
  std::snprintf(out, sizeof(out), v >= 1000 ? "%.0f" : "%.3g", v);
  return out;
}

struct FaultNoun {
  const char *kind, *one, *many;
};
constexpr FaultNoun kNouns[] = {{"down", "failure", "failures"},
                                {"stuck", "stall", "stalls"},
                                {"loss", "period of loss", "periods of loss"},
                                {"slow", "period of low rate", "periods of low rate"},
                                {"latency", "period of added latency", "periods of added latency"},
                                {"flap", "flap", "flaps"},
                                {"decay", "decay", "decays"},
                                {"background", "random flap", "random flaps"}};

// "7 flaps of plane 0 T1 3 and 2 failures of 2 links"
std::string faults_text(const Json& summary) {
  std::string s;
  if (!summary.contains("faults")) return s;
  for (const auto& [kind, tally] : summary["faults"].items()) {
    const uint64_t times = tally["times"], links = tally["links"], switches = tally["switches"];
    if (times == 0) continue;
    const std::string& name = kind;
    const auto* noun =
        std::find_if(std::begin(kNouns), std::end(kNouns), [&](const FaultNoun& n) { return name == n.kind; });
    if (noun == std::end(kNouns)) continue;
    std::string where = tally.value("only", "");
    if (where.empty()) {
      if (links > 0) where = plural(links, "link", "links");
      if (switches > 0) append_item(&where, plural(switches, "switch", "switches"), " and ");
    }
    append_item(&s, plural(times, noun->one, noun->many) + " of " + where, " and ");
  }
  return s;
}

// How long a job took, or how much it delivered where its messages are sent again until a time.
struct Outcome {
  bool by_time = true;
  double value = 0;  // us, Gb/s
  std::string text() const { return figure(value) + (by_time ? " us" : " Gb/s"); }
};

std::optional<Outcome> outcome(const Json& summary, const std::string& job) {
  const std::string path = "jobs." + job + ".";
  const bool by_time = metric_of(summary, path + "fct_us.max").has_value();
  const auto v = metric_of(summary, path + (by_time ? "duration_us" : "gbps"));
  if (!v || *v <= 0) return std::nullopt;
  return Outcome{by_time, *v};
}

bool finished(const Json& summary) {
  return unfinished_text(summary).empty();
}

std::string subject(const ScenarioSpec& s, const std::string& job) {
  return s.workloads.size() == 1 ? "the job" : "job " + job;
}

std::string capital(std::string s) {
  if (!s.empty() && s[0] >= 'a' && s[0] <= 'z') s[0] = static_cast<char>(s[0] - 'a' + 'A');
  return s;
}

// What the faults of a point cost one of its jobs.
struct Cost {
  size_t point = 0;
  std::string job;
  Outcome healthy, faulty;
  bool unfinished = false;  // with faults, but not without
  // Of the duration that is added, or of the rate that is missing.
  double share() const {
    return (healthy.by_time ? faulty.value - healthy.value : healthy.value - faulty.value) / healthy.value;
  }
};

std::optional<Cost> worst_cost(const ScenarioFile& file, const std::vector<Json>& summaries) {
  std::optional<Cost> worst;
  for (size_t i = 0; i < file.points.size(); ++i) {
    const Point& p = file.points[i];
    if (!p.baseline) continue;
    for (const WorkloadSpec& w : p.spec.workloads) {
      const Json &without = summaries[*p.baseline], &with = summaries[i];
      const auto healthy = outcome(without, w.name);
      if (!healthy) continue;
      Cost c{i, w.name, *healthy, outcome(with, w.name).value_or(Outcome{healthy->by_time, 0}),
             finished(without) && !finished(with)};
      if (c.faulty.by_time != c.healthy.by_time) c.faulty = {c.healthy.by_time, 0};
      if (!worst || std::make_pair(c.unfinished, c.share()) > std::make_pair(worst->unfinished, worst->share()))
        worst = c;
    }
  }
  return worst;
}

std::string cost_sentence(const ScenarioFile& file, const std::vector<Json>& summaries, const Cost& c) {
  const Point& p = file.points[c.point];
  const std::string faults = faults_text(summaries[c.point]);
  std::string s = subject(p.spec, c.job);
  if (const std::string setting = p.setting(); !setting.empty()) s = "at worst (" + setting + ") " + s;
  const double percent = 100 * std::fabs(c.share());
  const std::string values = " (healthy " + c.healthy.text() + ", faulty " + c.faulty.text() + ").";
  if (c.unfinished)
    return s + " did not finish: " + unfinished_text(summaries[c.point]) + (faults.empty() ? "" : ", after " + faults) +
           " (healthy " + c.healthy.text() + ").";
  if (faults.empty()) return s + " met no fault before its end" + values;
  if (percent < 0.05)
    return s + (c.healthy.by_time ? " ran as long" : " delivered as much") + " as without faults, despite " + faults +
           values;
  char change_text[32];
  std::snprintf(change_text, sizeof(change_text), percent < 100 ? " %.2g %% " : " %.0f %% ", percent);
  const std::string change = change_text;
  if (!c.healthy.by_time)
    return s + " delivered" + change + (c.share() > 0 ? "less, " : "more, ") +
           figure(std::fabs(c.healthy.value - c.faulty.value)) + " Gb/s " +
           (c.share() > 0 ? "lost to " : "gained despite ") + faults + values;
  if (c.share() < 0) return s + " ran" + change + "shorter, despite " + faults + values;
  return s + " ran" + change + "longer, " + figure(c.faulty.value - c.healthy.value) + " us lost to " + faults + values;
}

// The first job with an outcome at every point; empty when there is none.
std::string common_job(const ScenarioFile& file, const std::vector<Json>& summaries) {
  for (const WorkloadSpec& w : file.points[0].spec.workloads)
    if (std::all_of(summaries.begin(), summaries.end(), [&](const Json& s) {
          const auto o = outcome(s, w.name);
          return o && o->by_time == outcome(summaries[0], w.name)->by_time;
        }))
      return w.name;
  return "";
}

std::string range_sentence(const ScenarioFile& file, const std::vector<Json>& summaries, const std::string& job) {
  const std::string name = subject(file.points[0].spec, job);
  const Outcome first = *outcome(summaries[0], job);
  const std::string verb = first.by_time ? " took " : " delivered ";
  if (summaries.size() == 1) {
    const std::string faults = faults_text(summaries[0]);
    return name + verb + first.text() + (faults.empty() ? "" : ", with " + faults) + ".";
  }
  size_t low = 0, high = 0;
  for (size_t i = 0; i < summaries.size(); ++i) {
    const double v = outcome(summaries[i], job)->value;
    if (v < outcome(summaries[low], job)->value) low = i;
    if (v > outcome(summaries[high], job)->value) high = i;
  }
  const std::string count = std::to_string(summaries.size());
  if (outcome(summaries[low], job)->text() == outcome(summaries[high], job)->text())
    return name + verb + outcome(summaries[low], job)->text() + " in each of " + count + " points.";
  return name + verb + "from " + outcome(summaries[low], job)->text() + " (" + file.points[low].label() + ") to " +
         outcome(summaries[high], job)->text() + " (" + file.points[high].label() + ") in " + count + " points.";
}

Curve rate_curve(const std::string& name, const PointSeries& s) {
  return {name, s.gbps};
}

Chart rate_chart(const std::string& title) {
  Chart c;
  c.title = title;
  c.x_label = "time, us";
  c.y_label = "Gb/s";
  return c;
}

// All points have the same value of it, so that no name needs it.
bool only_value(const Where& where, const std::string& key) {
  return std::count_if(where.begin(), where.end(), [&](const auto& w) { return w.first == key; }) == 1;
}

// A job's receivers over time, a curve per point; of repeated points the first.
std::string chosen_picture(const ScenarioFile& file, const Picture& picture, const SeriesReader& read) {
  Chart c = rate_chart("Payload that the receivers of " + picture.job + " accepted");
  std::set<std::string> drawn;
  for (size_t i = 0; i < file.points.size(); ++i) {
    const Point& p = file.points[i];
    if (!matches(p, picture.where)) continue;
    Where rest;
    for (const auto& param : p.params)
      if (param.first != kSeed && !only_value(picture.where, param.first)) rest.push_back(param);
    Point named;
    named.params = rest;
    if (!drawn.insert(named.label()).second) continue;
    PointSeries s = read(i);
    c.curves.push_back({rest.empty() ? picture.job : named.label(), std::move(s.receivers_gbps[picture.job])});
    if (c.marks.empty()) c.marks = std::move(s.marks);
  }
  return line_chart(c);
}

}  // namespace

PointSeries parse_series(const std::string& series_csv, const std::string& faults_csv) {
  PointSeries s;
  const std::vector<std::string> rows = absl::StrSplit(series_csv, '\n', absl::SkipEmpty());
  if (rows.empty()) return s;
  const std::vector<std::string> names = absl::StrSplit(rows[0], ',');
  for (size_t row = 1; row < rows.size(); ++row) {
    const std::vector<std::string> cells = absl::StrSplit(rows[row], ',');
    double at = 0, sum = 0;
    for (size_t i = 0; i < std::min(names.size(), cells.size()); ++i) {
      const double value = std::strtod(cells[i].c_str(), nullptr);
      absl::string_view name = names[i];
      if (i == 0) at = value;
      if (absl::ConsumeSuffix(&name, kReceiversColumn) && !name.empty())
        s.receivers_gbps[std::string(name)].push_back({at, value});
      else if (absl::StartsWith(name, "plane"))
        sum += value;
    }
    s.gbps.push_back({at, sum});
  }
  const std::vector<std::string> faults = absl::StrSplit(faults_csv, '\n', absl::SkipEmpty());
  for (size_t row = 1; row < faults.size(); ++row) {
    const std::vector<std::string> cells = absl::StrSplit(faults[row], absl::MaxSplits(',', 1));
    if (cells.size() == 2) s.marks.push_back({std::strtod(cells[0].c_str(), nullptr), cells[1]});
  }
  return s;
}

std::string baseline_chart(const std::string& title, const PointSeries& healthy, const PointSeries& faulty) {
  Chart c = rate_chart(title);
  c.curves = {rate_curve("healthy", healthy), rate_curve("faulty", faulty)};
  c.marks = faulty.marks;
  return line_chart(c);
}

std::string overview_sentence(const ScenarioFile& file, const std::vector<Json>& summaries) {
  if (const auto cost = worst_cost(file, summaries)) return capital(cost_sentence(file, summaries, *cost));
  const std::string job = common_job(file, summaries);
  if (job.empty()) return "No job delivered a message at every point.";
  return capital(range_sentence(file, summaries, job));
}

std::string overview_picture(const ScenarioFile& file, const std::vector<Json>& summaries, const SeriesReader& read) {
  if (file.picture) return chosen_picture(file, *file.picture, read);
  if (const auto cost = worst_cost(file, summaries)) {
    const Point& p = file.points[cost->point];
    const std::string setting = p.setting();
    return baseline_chart("Payload received" + (setting.empty() ? "" : ", " + setting), read(*p.baseline),
                          read(cost->point));
  }
  if (summaries.size() == 1) {
    const PointSeries s = read(0);
    Chart c = rate_chart("Payload received");
    c.curves = {rate_curve("all planes", s)};
    c.marks = s.marks;
    return line_chart(c);
  }
  const std::string job = common_job(file, summaries);
  if (job.empty()) return "";
  BarChart bars;
  const bool by_time = outcome(summaries[0], job)->by_time;
  bars.title = by_time ? "Duration of " + job + ", us" : "Payload of " + job + ", Gb/s";
  for (size_t i = 0; i < summaries.size(); ++i)
    bars.bars.push_back({file.points[i].label(), outcome(summaries[i], job)->value});
  return bar_chart(bars);
}

}  // namespace mrc::sim
