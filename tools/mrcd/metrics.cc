// Prometheus metrics of devices, processes and the monitor.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "totals.h"
#include "web.h"

namespace mrc::mrcd {

namespace {

using Json = nlohmann::json;
using Labels = std::vector<std::pair<std::string, std::string>>;
using prometheus::MetricType;

constexpr MetricType kGauge = MetricType::Gauge, kCounter = MetricType::Counter;

// Samples of one metric stand together, under its help and type; prometheus-cpp writes the text. Prometheus refuses a
// whole page for one sample that is there twice, so the first of two is kept: of two loops between the same switches,
// say.
class Metrics {
 public:
  void add(const char* name, MetricType type, const char* help, const Labels& labels, const Json& value) {
    const auto [at, fresh] = index_.try_emplace(name, families_.size());
    if (fresh) families_.push_back({name, help, type, {}});
    if (!there_.insert({name, labels}).second) return;
    prometheus::ClientMetric sample;
    for (const auto& [key, text] : labels) sample.label.push_back({key, text});
    const double number = value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<double>();
    (type == MetricType::Counter ? sample.counter.value : sample.gauge.value) = number;
    families_[at->second].metric.push_back(std::move(sample));
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string, size_t> index_;
  std::set<std::pair<std::string, Labels>> there_;
};

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// `summary`: of one process, or of all of a device (totals.h).
void add_processes(const Json& summary, Metrics* m) {
  Labels labels = {{"device", text_of(summary["device"])}};
  if (summary.contains("pid")) {
    labels.push_back({"pid", text_of(summary["pid"])});
    labels.push_back({"program", text_of(summary["program"])});
  }
  m->add("mrc_qps", kGauge, "Queue pairs", labels, summary["qps"]);
  for (const Json& port : summary["ports"]) {
    Labels of_port = labels;
    of_port.push_back({"port", text_of(port["port"])});
    m->add("mrc_port_up", kGauge, "Port is used", of_port, port["up"]);
    m->add("mrc_tx_bytes_total", kCounter, "UDP payload sent", of_port, port["tx_bytes"]);
    m->add("mrc_rx_bytes_total", kCounter, "UDP payload received", of_port, port["rx_bytes"]);
    m->add("mrc_losses_total", kCounter, "Packets found lost", of_port, port["losses"]);
    m->add("mrc_retransmits_total", kCounter, "Packets sent again", of_port, port["retransmits"]);
    m->add("mrc_ecn_marks_total", kCounter, "Packets marked on the way", of_port, port["ecn_marks"]);
  }
  for (const auto& [state, count] : summary["paths"].items()) {
    Labels of_state = labels;
    of_state.push_back({"state", state});
    m->add("mrc_paths", kGauge, "Paths to all peers by state", of_state, count);
  }
}

void add_monitor(const Json& monitor, Metrics* m) {
  m->add("mrcd_monitor_running", kGauge, "mrcd watches the fabric", {}, monitor.value("running", false));
  for (const Json& plane : monitor.value("planes", Json::array()))
    for (const Json& path : plane["paths"]) {
      const Labels labels = {
          {"plane", text_of(plane["plane"])}, {"t0", text_of(plane["t0"])}, {"t1", text_of(path["t1"])}};
      m->add("mrcd_path_bad", kGauge, "Loop over T0 (and T1) is judged bad", labels, path["bad"]);
      m->add("mrcd_path_loss_ratio", kGauge, "Part of the last probes that were lost", labels, path["loss"]);
      m->add("mrcd_path_rtt_seconds", kGauge, "Round trip of probes", labels, path["rtt_us"].get<double>() / 1e6);
      m->add("mrcd_probes_total", kCounter, "Probes sent", labels, path["sent"]);
      m->add("mrcd_probes_lost_total", kCounter, "Probes lost", labels, path["lost"]);
    }
  m->add("mrcd_faults", kGauge, "Parts of the fabric found at fault", {},
         monitor.value("findings", Json::array()).size());
  for (const Json& f : monitor.value("findings", Json::array()))
    m->add("mrcd_fault", kGauge, "A part of the fabric at fault",
           {{"plane", text_of(f["plane"])},
            {"host", text_of(f["host"])},
            {"t0", text_of(f["t0"])},
            {"t1", text_of(f["t1"])}},
           1);
}

}  // namespace

std::string metrics_text(const Json& state) {
  Metrics m;
  m.add("mrcd_up", kGauge, "mrcd answers", {}, 1);
  m.add("mrcd_processes", kGauge, "Processes with an open device", {}, state["processes"]);
  for (const Json& device : state["devices"]) {
    const std::string name = text_of(device["device"]);
    m.add("mrcd_denies", kGauge, "Rules that deny paths", {{"device", name}}, device["denies"].size());
    for (uint32_t port = 1; port <= device["planes"].get<uint32_t>(); ++port) {
      bool enabled = true;
      for (const Json& down : device["ports_down"]) enabled = enabled && down != port;
      m.add("mrcd_port_enabled", kGauge, "Port is enabled", {{"device", name}, {"port", std::to_string(port)}},
            enabled);
    }
  }
  for (const Json& process : processes_of(state["reports"])) add_processes(process, &m);
  if (state["reports"].empty())
    for (const Json& total : state["totals"]) add_processes(total, &m);
  add_monitor(state["monitor"], &m);
  return m.text();
}

}  // namespace mrc::mrcd
