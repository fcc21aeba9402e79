#include "totals.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace mrc::mrcd {

namespace {

using Json = nlohmann::json;

constexpr const char* kSums[] = {"tx_bytes", "rx_bytes", "losses", "retransmits", "ecn_marks"};

// A port is up when it is for one process at least.
void add_ports(const Json& ports, std::map<uint64_t, Json>* sums) {
  for (const Json& port : ports) {
    const auto number = port.at("port").get<uint64_t>();
    Json& sum = sums->try_emplace(number, Json{{"port", number}, {"up", false}}).first->second;
    sum["up"] = sum["up"].get<bool>() || port.at("up").get<bool>();
    for (const char* key : kSums) sum[key] = sum.value(key, uint64_t{0}) + port.at(key).get<uint64_t>();
  }
}

}  // namespace

Json summary_of(const Json& report) {
  std::map<std::string, uint64_t> paths = {{"GOOD", 0}, {"ASSUMED_BAD", 0}, {"DENIED", 0}};
  for (const Json& peer : report.at("peers"))
    for (const Json& ev : peer.at("evs")) ++paths[ev.at("state").get<std::string>()];
  return {{"device", report.at("device")},  {"pid", report.at("pid")},     {"program", report.at("program")},
          {"qps", report.at("qps").size()}, {"ports", report.at("ports")}, {"paths", paths}};
}

Json totals_of(const Json& reports) {
  struct Sum {
    uint64_t processes = 0, qps = 0;
    std::map<uint64_t, Json> ports;
    std::map<std::string, uint64_t> paths;
  };
  std::map<std::string, Sum> devices;
  for (const Json& report : reports) {
    const Json summary = summary_of(report);
    Sum& sum = devices[summary["device"].get<std::string>()];
    ++sum.processes;
    sum.qps += summary["qps"].get<uint64_t>();
    add_ports(summary["ports"], &sum.ports);
    for (const auto& [state, count] : summary["paths"].items()) sum.paths[state] += count.get<uint64_t>();
  }
  Json all = Json::array();
  for (const auto& [name, sum] : devices) {
    Json ports = Json::array();
    for (const auto& [number, port] : sum.ports) ports.push_back(port);
    all.push_back(
        {{"device", name}, {"processes", sum.processes}, {"qps", sum.qps}, {"ports", ports}, {"paths", sum.paths}});
  }
  return all;
}

}  // namespace mrc::mrcd
