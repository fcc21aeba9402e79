#include "totals.h"

#include <tuple>

namespace mrc::mrcd {

void Totals::add(const ctl::DeviceReport& report) {
  pids.insert(report.pid);
  qps += report.qps.size();
  for (const ctl::PortReport& port : report.ports) {
    ctl::PortReport& sum = ports[port.port];
    sum.port = port.port;
    sum.up = sum.up || port.up;
    if (sum.out.empty()) sum.out = port.out;
    for (auto member : {&ctl::PortReport::tx_packets, &ctl::PortReport::tx_bytes, &ctl::PortReport::rx_packets,
                        &ctl::PortReport::rx_bytes, &ctl::PortReport::losses, &ctl::PortReport::retransmits,
                        &ctl::PortReport::ecn_marks})
      sum.*member = sum.*member + port.*member;
  }
  for (const ctl::PeerReport& peer : report.peers)
    for (const ctl::EvReport& ev : peer.evs) ++paths[ev.state];
}

void to_json(nlohmann::json& j, const Totals& totals) {
  j = {{"device", totals.device},
       {"processes", totals.pids.size()},
       {"qps", totals.qps},
       {"paths", totals.paths},
       {"ports", nlohmann::json::array()}};
  for (const auto& [number, port] : totals.ports) j["ports"].push_back(port);
}

std::vector<Totals> processes_of(const std::vector<ctl::DeviceReport>& reports) {
  std::map<std::tuple<std::string, int64_t, std::string>, Totals> processes;
  for (const ctl::DeviceReport& report : reports) {
    Totals& sum = processes[{report.device, report.pid, report.program}];
    std::tie(sum.device, sum.pid, sum.program) = std::tuple(report.device, report.pid.number(), report.program);
    sum.add(report);
  }
  std::vector<Totals> all;
  for (auto& [name, sum] : processes) all.push_back(std::move(sum));
  return all;
}

std::vector<Totals> totals_of(const std::vector<ctl::DeviceReport>& reports) {
  std::map<std::string, Totals> devices;
  for (const ctl::DeviceReport& report : reports) {
    devices[report.device].device = report.device;
    devices[report.device].add(report);
  }
  std::vector<Totals> all;
  for (auto& [name, sum] : devices) all.push_back(std::move(sum));
  return all;
}

}  // namespace mrc::mrcd
