// Prometheus metrics of devices, processes and the monitor.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/delay_histogram.h"
#include "web.h"

namespace mrc::mrcd {

namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;
using prometheus::MetricType;

constexpr MetricType kGauge = MetricType::Gauge, kCounter = MetricType::Counter;

constexpr double number(uint64_t count) {
  return static_cast<double>(count);
}

// Samples of one metric stand together, under its help and type; prometheus-cpp writes the text. Prometheus refuses a
// whole page for one duplicate sample, so the first of two is kept: of two loops between the same switches, for
// example.
class Metrics {
 public:
  void add(const char* name, MetricType type, const char* help, const Labels& labels, double value) {
    prometheus::ClientMetric sample;
    (type == MetricType::Counter ? sample.counter.value : sample.gauge.value) = value;
    add_sample(name, type, help, labels, std::move(sample));
  }
  void add(const char* name, const char* help, const Labels& labels, const ctl::DelayReport& delays) {
    prometheus::ClientMetric sample;
    uint64_t seen = 0;
    for (size_t i = 0; i < ctl::DelayReport::kCounts; ++i) {  // buckets are there before the first sample
      if (!delays.counts.empty()) seen = sum_of(seen, delays.counts[i]);
      if (i < kFirstOctave || i > kLastOctave) continue;
      const double end = static_cast<double>(core::DelayHistogram::octave_end(i).ns()) / 1e9;
      sample.histogram.bucket.push_back({seen, end});
    }
    sample.histogram.sample_count = seen;
    sample.histogram.sample_sum = number(delays.sum_ns) / 1e9;
    add_sample(name, MetricType::Histogram, help, labels, std::move(sample));
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  static constexpr size_t kFirstOctave = 2, kLastOctave = 24;  // ends of the buckets: 4 us to 17 s

  void add_sample(const char* name, MetricType type, const char* help, const Labels& labels,
                  prometheus::ClientMetric sample) {
    const auto [at, fresh] = index_.try_emplace(name, families_.size());
    if (fresh) families_.push_back({name, help, type, {}});
    if (!there_.insert({name, labels}).second) return;
    for (const auto& [key, text] : labels) sample.label.push_back({key, text});
    families_[at->second].metric.push_back(std::move(sample));
  }

  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string, size_t> index_;
  std::set<std::pair<std::string, Labels>> there_;
};

// `sums`: of one process, or of all of a device.
void add_processes(const Totals& sums, Metrics* m) {
  Labels labels = {{"device", sums.device}};
  if (sums.pid != 0) {
    labels.push_back({"pid", std::to_string(sums.pid)});
    labels.push_back({"program", sums.program});
  }
  m->add("mrc_qps", kGauge, "Queue pairs", labels, number(sums.qps));
  for (const auto& [port, counters] : sums.ports) {
    Labels of_port = labels;
    of_port.push_back({"port", std::to_string(port)});
    m->add("mrc_port_up", kGauge, "Port is used", of_port, counters.up);
    m->add("mrc_tx_bytes_total", kCounter, "UDP payload sent", of_port, number(counters.tx_bytes));
    m->add("mrc_rx_bytes_total", kCounter, "UDP payload received", of_port, number(counters.rx_bytes));
    m->add("mrc_losses_total", kCounter, "Packets sent and taken for lost: lost, trimmed, or merely late", of_port,
           number(counters.losses));
    m->add("mrc_retransmits_total", kCounter, "Packets sent again, whatever the reason", of_port,
           number(counters.retransmits));
    m->add("mrc_ecn_marks_total", kCounter, "Packets marked on the way", of_port, number(counters.ecn_marks));
  }
  for (const auto& [state, count] : sums.paths) {
    Labels of_state = labels;
    of_state.push_back({"state", state});
    m->add("mrc_paths", kGauge, "Paths to all peers by state", of_state, number(count));
  }
}

void add_latency(const LatencyByDevice& latency, Metrics* m) {
  for (const auto& [device, peers] : latency)
    for (const auto& [peer, delays] : peers) {
      const Labels labels = {{"device", device}, {"peer", peer}};
      m->add("mrc_completion_latency_seconds", "Time from posting a request to its success", labels, delays.completion);
      m->add("mrc_retransmission_delay_seconds",
             "Time from the first transmission to the acknowledgement of packets that were sent again", labels,
             delays.retransmission);
    }
}

void add_monitor(const MonitorStatus& monitor, Metrics* m) {
  m->add("mrcd_monitor_running", kGauge, "mrcd watches the fabric", {}, monitor.running);
  for (const PlaneStatus& plane : monitor.planes)
    for (const LoopStatus& path : plane.paths) {
      const Labels labels = {{"plane", std::to_string(plane.plane)}, {"t0", plane.t0}, {"t1", path.t1}};
      m->add("mrcd_path_bad", kGauge, "Loop over T0 (and T1) is judged bad", labels, path.bad);
      m->add("mrcd_path_loss_ratio", kGauge, "Part of the last probes that were lost", labels, path.loss);
      m->add("mrcd_path_rtt_seconds", kGauge, "Round trip of probes", labels, path.rtt_us / 1e6);
      m->add("mrcd_probes_total", kCounter, "Probes sent", labels, number(path.sent));
      m->add("mrcd_probes_lost_total", kCounter, "Probes lost", labels, number(path.lost));
    }
  m->add("mrcd_faults", kGauge, "Parts of the fabric found at fault", {}, number(monitor.findings.size()));
  for (const Finding& f : monitor.findings)
    m->add("mrcd_fault", kGauge, "A part of the fabric at fault",
           {{"plane", std::to_string(f.plane)}, {"host", f.host}, {"t0", f.t0}, {"t1", f.t1}}, 1);
}

}  // namespace

std::string metrics_text(const WebState& state) {
  Metrics m;
  m.add("mrcd_up", kGauge, "mrcd answers", {}, 1);
  m.add("mrcd_processes", kGauge, "Processes with an open device", {}, number(state.processes));
  for (const WebDevice& device : state.devices) {
    m.add("mrcd_denies", kGauge, "Rules that deny paths", {{"device", device.device}}, number(device.denies.size()));
    for (uint32_t port = 1; port <= device.planes; ++port)
      m.add("mrcd_port_enabled", kGauge, "Port is enabled", {{"device", device.device}, {"port", std::to_string(port)}},
            std::count(device.ports_down.begin(), device.ports_down.end(), port) == 0);
  }
  for (const Totals& process : processes_of(state.reports)) add_processes(process, &m);
  if (state.reports.empty())
    for (const Totals& total : state.totals) add_processes(total, &m);
  add_latency(state.latency, &m);
  add_monitor(state.monitor, &m);
  return m.text();
}

}  // namespace mrc::mrcd
