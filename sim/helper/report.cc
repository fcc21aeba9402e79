#include "sim/helper/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/helper/svg.h"
#include "xml_text.h"

namespace mrc::sim {
namespace {

using support::escape_xml;

const char* kStyle = R"(<!doctype html><html lang="en"><head><meta charset="utf-8"><style>
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:920px;color:#1d1d1f}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}
table{border-collapse:collapse;margin:1em 0}td,th{border-bottom:1px solid #ddd;padding:3px 10px;text-align:right}td:first-child,th:first-child{text-align:left}
th{vertical-align:bottom}td:first-child{overflow-wrap:anywhere}.chart{width:100%;margin:.6em 0}.first{font-size:1.2em}
.ok{color:#006d4f}.bad{color:#b34700;font-weight:bold}pre{background:#f5f5f5;padding:1em;overflow:auto;white-space:pre-wrap}</style>
)";

std::string head(const std::string& title, const std::string& about) {
  return std::string(kStyle) + "<title>" + escape_xml(title) + "</title></head><body><h1>" + escape_xml(title) +
         "</h1>" + (about.empty() ? "" : "<p>" + escape_xml(about) + "</p>") + "\n";
}

std::string queue_chart(const RunResult& r) {
  Chart c;
  c.title = "Largest data queue in each interval";
  c.x_label = "time, us";
  c.y_label = "kB";
  const char* names[] = {"T0 to NIC", "T0 to T1", "T1 to T0"};
  for (size_t k = 0; k < 3; ++k) {
    Curve curve{names[k], {}};
    for (const Row& row : r.rows) curve.points.push_back({us(row.at), static_cast<double>(row.peak_queue[k]) / 1e3});
    c.curves.push_back(std::move(curve));
  }
  return line_chart(c);
}

std::string loss_chart(const RunResult& r) {
  Chart c;
  c.title = "Packets per interval";
  c.x_label = "time, us";
  c.y_label = "packets";
  c.curves = {{"retransmitted", {}}, {"trimmed", {}}, {"dropped", {}}, {"CE-marked", {}}};
  for (const Row& row : r.rows) {
    c.curves[0].points.push_back({us(row.at), static_cast<double>(row.retransmits)});
    c.curves[1].points.push_back({us(row.at), static_cast<double>(row.trimmed)});
    c.curves[2].points.push_back({us(row.at), static_cast<double>(row.dropped)});
    c.curves[3].points.push_back({us(row.at), static_cast<double>(row.marked)});
  }
  return line_chart(c);
}

std::string completion_chart(const ScenarioSpec& s, const RunResult& r) {
  Chart c;
  c.title = "Completion times";
  c.x_label = "us";
  c.y_label = "share of messages";
  for (uint32_t job = 0; job < s.workloads.size(); ++job) {
    std::vector<double> times;
    for (const Op& op : r.graph.ops)
      if (op.job == job && op.progress.sent >= 0 && op.until == 0)
        times.push_back(us(op.progress.sent - op.progress.posted));
    if (times.size() < 2) continue;
    std::sort(times.begin(), times.end());
    Curve curve{s.workloads[job].name, {}};
    for (size_t i = 0; i < times.size(); ++i)
      curve.points.push_back({times[i], static_cast<double>(i + 1) / static_cast<double>(times.size())});
    c.curves.push_back(std::move(curve));
  }
  return line_chart(c);
}

// T0 down the page, T1 across, a square per link, darker the more it lost; trims and marks count a little.
std::string link_map(const ScenarioSpec& s, const RunResult& r) {
  std::string out;
  for (uint32_t plane = 0; plane < s.fabric.planes; ++plane) {
    HeatMap map;
    map.title = "Plane " + std::to_string(plane) +
                ": packets lost, dropped or trimmed per T0-T1 link (T1 across), and per T0's NIC links (last column)";
    uint64_t max = 0;
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> cells;
    for (const LinkRecord& l : r.links) {
      if (l.plane != plane) continue;
      const auto key =
          l.kind == Link::Kind::kSpine ? std::make_pair(l.low, l.high) : std::make_pair(l.high, s.fabric.t1 + 1);
      max = std::max(max, cells[key] += l.lost + l.dropped + l.trimmed);
    }
    if (max == 0) continue;
    for (uint32_t i = 0; i < s.fabric.t0; ++i) map.rows.push_back("T0 " + std::to_string(i));
    map.columns.assign(s.fabric.t1 + 2, std::vector<float>(s.fabric.t0, -1));
    for (const auto& [key, n] : cells)
      map.columns[key.second][key.first] =
          static_cast<float>(std::log1p(static_cast<double>(n)) / std::log1p(static_cast<double>(max)));
    map.x_label = "most on one: " + std::to_string(max);
    map.x_to = s.fabric.t1 + 1;
    out += heat_map(map);
  }
  return out.empty() ? "<p>No link lost or trimmed anything.</p>" : out;
}

std::string counters_table(const Json& summary) {
  std::string s = "<table><tr><th>counter</th><th>sum over all NICs</th></tr>";
  for (const char* group : {"counters", "network"})
    for (const auto& [name, value] : summary[group].items())
      if (value != 0) s += "<tr><td>" + name + "</td><td>" + value.dump() + "</td></tr>";
  return s + "</table>";
}

std::string unfinished_paragraph(const std::string& label, const Json& summary) {
  const std::string text = unfinished_text(summary);
  return text.empty() ? "" : "<p class=\"bad\">" + escape_xml(label + ": " + text) + "</p>\n";
}

constexpr size_t kColumns = 7;  // more do not fit on the page: a further table below

std::string table(const std::vector<std::pair<std::string, Json>>& rows) {
  std::vector<Json> summaries;
  for (const auto& r : rows) summaries.push_back(r.second);
  const std::vector<TableColumn> columns = table_columns(summaries);
  std::string s;
  for (size_t from = 0; from < std::max<size_t>(columns.size(), 1); from += kColumns) {
    const size_t to = std::min(from + kColumns, columns.size());
    s += "<table><tr><th></th>";
    for (size_t k = from; k < to; ++k) s += "<th>" + escape_xml(columns[k].title) + "</th>";
    s += "</tr>";
    for (const auto& [label, summary] : rows) {
      s += "<tr><td>" + escape_xml(label) + "</td>";
      for (size_t k = from; k < to; ++k) s += "<td>" + table_value(summary, columns[k]) + "</td>";
      s += "</tr>";
    }
    s += "</table>\n";
  }
  return s;
}

}  // namespace

std::string plural(uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string unfinished_text(const Json& summary) {
  const auto unfinished = summary.value("unfinished", uint64_t{0}), errors = summary.value("qp_errors", uint64_t{0});
  if (unfinished == 0 && errors == 0) return "";
  uint64_t messages = 0;
  for (const auto& [name, job] : summary["jobs"].items()) messages += job.value("operations", uint64_t{0});
  return std::to_string(unfinished) + " of " + std::to_string(messages) + " messages unfinished, " +
         std::to_string(errors) + " QPs failed";
}

std::string throughput_chart(const RunResult& r) {
  Chart c;
  c.title = "Payload received per plane";
  c.x_label = "time, us";
  c.y_label = "Gb/s";
  if (r.rows.empty()) return "";
  const size_t planes = r.rows[0].plane_gbps.size();
  for (size_t p = 0; p < planes; ++p) {
    Curve curve{"plane " + std::to_string(p), {}};
    for (const Row& row : r.rows) curve.points.push_back({us(row.at), row.plane_gbps[p]});
    c.curves.push_back(std::move(curve));
  }
  if (planes > 1) {
    Curve total{"mean of planes", {}};
    for (const Row& row : r.rows) {
      double sum = 0;
      for (const double g : row.plane_gbps) sum += g;
      total.points.push_back({us(row.at), sum / static_cast<double>(planes)});
    }
    c.curves.push_back(std::move(total));
  }
  for (const FaultMark& m : r.marks) c.marks.push_back({us(m.at), m.text});
  return line_chart(c);
}

std::vector<TableColumn> table_columns(const std::vector<Json>& summaries) {
  std::vector<TableColumn> columns;
  std::set<std::string> seen;
  const auto add = [&](const std::string& title, const std::string& metric) {
    if (!seen.insert(metric).second) return;
    for (const Json& s : summaries)
      if (metric_of(s, metric).value_or(0) != 0) {
        columns.push_back({title, metric});
        return;
      }
  };
  for (const Json& s : summaries) {
    if (!s.contains("jobs")) continue;
    const bool many = s["jobs"].size() > 1;
    for (const auto& [job, value] : s["jobs"].items()) {
      const std::string prefix = many ? job + " " : "";
      add(prefix + "tail us", "jobs." + job + ".fct_us.max");
      add(prefix + "p50 us", "jobs." + job + ".fct_us.p50");
      add(prefix + "duration us", "jobs." + job + ".duration_us");
      add(prefix + "Gb/s per sender", "jobs." + job + ".gbps_per_sender");
    }
    if (s.contains("windows"))
      for (const auto& [name, value] : s["windows"].items()) add(name + " Gb/s", "windows." + name + ".gbps");
  }
  add("retransmits", "counters.retransmits");
  add("trimmed", "network.trimmed");
  add("drops", "network.queue_drops");
  add("QP errors", "qp_errors");
  return columns;
}

std::string table_value(const Json& summary, const TableColumn& column) {
  const auto v = metric_of(summary, column.metric);
  return v ? format_number(*v) : "-";
}

std::string run_report(const ScenarioSpec& s, const std::string& label, const RunResult& r) {
  std::string html = head(s.name, s.about);
  html += "<p>" + escape_xml(label) + ". Fabric " + escape_xml(s.fabric.name) + ": " + std::to_string(s.fabric.planes) +
          " planes of " + format_rate(s.fabric.nic_link.rate) + ", " + std::to_string(s.fabric.nics()) +
          " NICs. Seed " + std::to_string(s.seed) + ".</p>\n";
  html += unfinished_paragraph(label, r.summary);
  html += table({{label, r.summary}});
  html += "<h2>Throughput</h2>" + throughput_chart(r);
  // None where every message is sent again and again until a time.
  if (const std::string chart = completion_chart(s, r); !chart.empty()) html += "<h2>Completion times</h2>" + chart;
  html += "<h2>Queues</h2>" + queue_chart(r);
  html += "<h2>Losses, trims, marks</h2>" + loss_chart(r);
  if (!r.ev_map.columns.empty()) {
    HeatMap map{"Share of ASSUMED_BAD EVs among the sampled pairs, by path",
                "time, us",
                r.ev_map.rows,
                r.ev_map.columns,
                0,
                r.rows.empty() ? 0 : us(r.rows.back().at)};
    html += "<h2>EV states</h2>" + heat_map(map);
  }
  html += "<h2>Links</h2>" + link_map(s, r);
  html += "<h2>Counters</h2>" + counters_table(r.summary);
  return html + "</body></html>\n";
}

namespace {

// The points' metric over the values of a parameter, a curve for each setting of the others, with the mean of the
// seeds. A run without the parameter is the baseline of all its values.
Chart parameter_chart(const ScenarioFile& file, const std::vector<Json>& summaries, const std::string& key,
                      const std::set<double>& xs, const TableColumn& column) {
  std::map<std::string, std::map<double, std::pair<double, int>>> curves;
  for (size_t i = 0; i < summaries.size(); ++i) {
    const auto y = metric_of(summaries[i], column.metric);
    if (!y) continue;
    std::set<double> at = xs;
    Point other;
    for (const auto& param : file.points[i].params) {
      if (param.first == key) {
        at = {*parse_number(param.second)};
      } else if (param.first != kSeed) {
        other.params.push_back(param);
      }
    }
    for (const double x : at) {
      auto& cell = curves[other.label()][x];
      cell.first += *y;
      ++cell.second;
    }
  }
  Chart c;
  c.title = column.title;
  c.x_label = key;
  c.dots = true;
  c.log_x = *xs.begin() > 0 && *xs.rbegin() / *xs.begin() >= 8;
  for (const auto& [name, points] : curves) {
    Curve curve{name, {}};
    for (const auto& [x, y] : points) curve.points.push_back({x, y.first / y.second});
    c.curves.push_back(std::move(curve));
  }
  return c;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> sweep_curves(const ScenarioFile& file,
                                                              const std::vector<Json>& summaries) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto fewer = [](const Point& a, const Point& b) { return a.params.size() < b.params.size(); };
  for (const auto& param : std::max_element(file.points.begin(), file.points.end(), fewer)->params) {
    const std::string& key = param.first;
    if (key == kSeed) continue;
    std::set<double> xs;
    bool numbers = true;
    for (const Point& p : file.points)
      for (const auto& [name, value] : p.params) {
        if (name != key) continue;
        const auto v = parse_number(value);
        numbers &= v.has_value();
        if (v) xs.insert(*v);
      }
    if (!numbers || xs.size() < 3) continue;
    for (const TableColumn& column : table_columns(summaries)) {
      const size_t dot = key.rfind('.');
      std::string name = key.substr(dot == std::string::npos ? 0 : dot + 1) + "-" + column.metric;
      std::replace(name.begin(), name.end(), ' ', '_');
      all.push_back({name, line_chart(parameter_chart(file, summaries, key, xs, column))});
    }
  }
  return all;
}

std::string sweep_report(const ScenarioFile& file, const std::vector<Json>& summaries,
                         const std::vector<CheckResult>& checks, const std::string& sentence,
                         const std::string& picture) {
  const ScenarioSpec& first = file.points[0].spec;
  std::string html = head(first.name, "");
  html += "<p class=\"first\">" + escape_xml(sentence) + "</p>\n" + picture;
  if (!first.about.empty()) html += "<p>" + escape_xml(first.about) + "</p>\n";
  for (size_t i = 0; i < summaries.size(); ++i)
    html += unfinished_paragraph("point " + std::to_string(i) + ", " + file.points[i].label(), summaries[i]);
  if (!checks.empty()) {
    html += "<h2>Checks</h2><table><tr><th>check</th><th>worst value</th><th></th></tr>";
    for (const CheckResult& c : checks)
      html += "<tr><td>" + escape_xml(c.text) + "</td><td>" +
              (c.why.empty() ? format_number(c.value) : escape_xml(c.why)) + "</td><td class=\"" +
              (c.passed ? "ok\">holds" : "bad\">fails") + "</td></tr>";
    html += "</table>\n";
  }
  std::vector<std::pair<std::string, Json>> rows;
  for (size_t i = 0; i < summaries.size(); ++i) rows.push_back({file.points[i].label(), summaries[i]});
  html += "<h2>Points</h2>" + table(rows);
  for (const auto& [name, svg] : sweep_curves(file, summaries)) html += svg;
  html += "<h2>Scenario</h2><pre>" + escape_xml(file.text) + "</pre>";
  return html + "</body></html>\n";
}

std::string compare_table(const std::vector<std::pair<std::string, Json>>& a,
                          const std::vector<std::pair<std::string, Json>>& b, bool html) {
  std::vector<Json> all;
  for (const auto& x : a) all.push_back(x.second);
  for (const auto& x : b) all.push_back(x.second);
  std::string s = html ? "<table><tr><th>point</th><th>metric</th><th>A</th><th>B</th><th>B/A</th></tr>"
                       : "point\tmetric\tA\tB\tB/A\n";
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    for (const TableColumn& c : table_columns(all)) {
      const auto va = metric_of(a[i].second, c.metric), vb = metric_of(b[i].second, c.metric);
      if (!va && !vb) continue;
      const std::string label = a[i].first == b[i].first ? a[i].first : a[i].first + " | " + b[i].first;
      const std::string ratio = va && vb && *va != 0 ? format_number(*vb / *va) : "-";
      const std::string cells[] = {label, c.title, va ? format_number(*va) : "-", vb ? format_number(*vb) : "-", ratio};
      if (html) s += "<tr>";
      for (size_t k = 0; k < 5; ++k)
        s += html ? "<td>" + escape_xml(cells[k]) + "</td>" : cells[k] + (k < 4 ? "\t" : "\n");
      if (html) s += "</tr>";
    }
  return s + (html ? "</table>\n" : "");
}

}  // namespace mrc::sim
