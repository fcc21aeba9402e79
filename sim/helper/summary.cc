#include "sim/helper/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace mrc::sim {
namespace {

double gbps(double bytes, Ps time) {
  return time > 0 ? bytes * 8 / (static_cast<double>(time) / kPsPerSecond) / 1e9 : 0;
}

// Three decimals are enough for people and keep files short; rounding is the same everywhere.
double rounded(double v) {
  return std::round(v * 1000) / 1000;
}

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

Json job_summary(const ScenarioSpec& scenario, const Graph& graph, uint32_t job) {
  std::vector<double> times;
  std::set<uint32_t> sources;
  uint64_t bytes = 0, messages = 0, failed = 0;
  Ps begin = INT64_MAX, end = 0;
  double sum = 0, squares = 0;
  for (const Op& op : graph.ops) {
    if (op.job != job) continue;
    sources.insert(op.src);
    failed += op.progress.failed;
    if (op.progress.posted >= 0) begin = std::min(begin, op.progress.posted);
    if (op.progress.sent < 0) continue;
    messages += op.progress.repeats;
    bytes += op.bytes * op.progress.repeats;
    end = std::max(end, op.progress.sent);
    if (op.until == 0) {
      times.push_back(us(op.progress.sent - op.progress.posted));
      const double rate = 1 / std::max(1e-9, times.back());
      sum += rate;
      squares += rate * rate;
    }
  }
  Json j;
  j["operations"] = std::count_if(graph.ops.begin(), graph.ops.end(), [&](const Op& o) { return o.job == job; });
  j["messages"] = messages;
  j["failed"] = failed;
  j["bytes"] = bytes;
  if (messages == 0) return j;
  j["start_us"] = rounded(us(begin));
  j["end_us"] = rounded(us(end));
  j["duration_us"] = rounded(us(end - begin));
  const double total = gbps(static_cast<double>(bytes), end - begin);
  j["gbps"] = rounded(total);
  j["gbps_per_sender"] = rounded(total / static_cast<double>(sources.size()));
  j["share_of_peak"] =
      std::round(total / static_cast<double>(sources.size()) / (scenario.fabric.line_rate() / 1e9) * 1e5) / 1e5;
  if (times.empty()) return j;
  std::sort(times.begin(), times.end());
  double mean = 0;
  for (const double t : times) mean += t / static_cast<double>(times.size());
  j["fct_us"] = {{"min", rounded(times.front())},
                 {"p50", rounded(quantile(times, 0.5))},
                 {"p99", rounded(quantile(times, 0.99))},
                 {"max", rounded(times.back())},
                 {"mean", rounded(mean)}};
  j["jain"] = rounded(sum * sum / (squares * static_cast<double>(times.size())));
  return j;
}

Json window_summary(const ScenarioSpec& scenario, const Graph& graph, const WindowSnapshots& w) {
  Json j;
  const Ps time = w.window.to - w.window.from;
  if (w.end.goodput.empty()) return j;
  double total = 0;
  std::vector<double> per_nic(w.end.goodput.size());
  for (size_t i = 0; i < per_nic.size(); ++i) {
    per_nic[i] = static_cast<double>(w.end.goodput[i] - w.begin.goodput[i]);
    total += per_nic[i];
  }
  j["gbps"] = rounded(gbps(total, time));
  j["share_of_peak"] =
      std::round(gbps(total, time) / static_cast<double>(per_nic.size()) / (scenario.fabric.line_rate() / 1e9) * 1e5) /
      1e5;
  Json planes = Json::array();
  for (size_t p = 0; p < w.end.plane.size(); ++p)
    planes.push_back(rounded(gbps(static_cast<double>(w.end.plane[p] - w.begin.plane[p]), time)));
  j["plane_gbps"] = planes;
  // Bytes received by a job's receivers; exact if jobs share none.
  Json jobs;
  const std::vector<std::set<uint32_t>> receivers = receivers_by_job(graph, scenario.workloads.size());
  for (uint32_t job = 0; job < scenario.workloads.size(); ++job) {
    double bytes = 0;
    for (const uint32_t n : receivers[job]) bytes += per_nic[n];
    jobs[scenario.workloads[job].name] = rounded(gbps(bytes, time));
  }
  j["receivers_gbps"] = jobs;
  return j;
}

}  // namespace

Snapshot snapshot(Network& network) {
  Snapshot s;
  const FabricSpec& f = network.spec();
  s.plane.resize(f.planes);
  for (uint32_t n = 0; n < f.nics(); ++n) {
    s.goodput.push_back(network.nic(n).goodput_bytes());
    for (uint32_t p = 0; p < f.planes; ++p) s.plane[p] += network.nic(n).plane_counters(p).rx_data_bytes;
  }
  return s;
}

std::string link_name(const Link& l) {
  const std::string plane = "plane " + std::to_string(l.plane);
  if (l.kind == Link::Kind::kNic) return plane + " NIC " + std::to_string(l.low) + "-T0 " + std::to_string(l.high);
  return plane + " T0 " + std::to_string(l.low) + "-T1 " + std::to_string(l.high);
}

std::vector<LinkRecord> link_records(Network& network) {
  std::vector<LinkRecord> all;
  for (const Link& l : network.links()) {
    const PortCounters &u = l.up->counters(), &d = l.down->counters();
    LinkRecord r;
    r.name = link_name(l);
    r.plane = l.plane;
    r.kind = l.kind;
    r.low = l.low;
    r.high = l.high;
    r.lost = u.lost + d.lost + u.lost_down + d.lost_down;
    r.trimmed = u.trimmed + d.trimmed;
    r.marked = u.marked + d.marked;
    r.dropped = u.queue_drops + d.queue_drops;
    r.max_queue = std::max(l.kind == Link::Kind::kNic ? 0 : u.max_queue, d.max_queue);
    if (r.lost + r.trimmed + r.marked + r.dropped > 0) all.push_back(r);
  }
  return all;
}

Json summarise(const ScenarioSpec& scenario, Network& network, const Graph& graph,
               const std::vector<WindowSnapshots>& windows, Ps end, bool finished, uint64_t unfinished) {
  const FabricSpec& f = scenario.fabric;
  Json j;
  j["scenario"] = scenario.name;
  j["seed"] = scenario.seed;
  j["transport"] = {{"kind", scenario.transport.kind == TransportKind::kMrc ? "mrc" : "roce"},
                    {"qps", scenario.transport.qps}};
  j["fabric"] = {{"name", f.name},
                 {"planes", f.planes},
                 {"t0", f.t0},
                 {"t1", f.t1},
                 {"nics", f.nics()},
                 {"line_rate_gbps", f.line_rate() / 1e9},
                 {"base_rtt_us", rounded(us(f.base_rtt()))}};
  j["finished"] = finished;
  j["unfinished"] = unfinished;
  j["end_us"] = rounded(us(end));
  for (uint32_t job = 0; job < scenario.workloads.size(); ++job)
    j["jobs"][scenario.workloads[job].name] = job_summary(scenario, graph, job);
  for (const WindowSnapshots& w : windows) j["windows"][w.window.name] = window_summary(scenario, graph, w);
  std::map<std::string, uint64_t> sums;
  std::vector<std::string> order;
  uint64_t errors = 0;
  for (uint32_t n = 0; n < f.nics(); ++n) {
    network.nic(n).each_counter([&](const char* name, uint64_t v) {
      if (n == 0) order.push_back(name);
      sums[name] += v;
    });
    errors += network.nic(n).qp_errors();
  }
  for (const std::string& name : order) j["counters"][name] = sums[name];
  j["qp_errors"] = errors;
  const PortTotals t = port_totals(network);
  j["network"] = {{"trimmed", t.trimmed},       {"queue_drops", t.queue_drops},
                  {"marked", t.marked},         {"lost", t.lost},
                  {"lost_down", t.lost_down},   {"stuck", t.stuck},
                  {"unroutable", t.unroutable}, {"pauses", t.pauses}};
  return j;
}

}  // namespace mrc::sim
