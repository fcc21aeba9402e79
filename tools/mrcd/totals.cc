#include "totals.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

namespace mrc::mrcd {

namespace {

using Json = nlohmann::json;

constexpr const char* kSums[] = {"tx_bytes", "rx_bytes", "losses", "retransmits", "ecn_marks"};

struct Sum {
  std::set<int64_t> pids;
  uint64_t qps = 0;
  std::map<uint64_t, Json> ports;
  std::map<std::string, uint64_t> paths = {{"GOOD", 0}, {"ASSUMED_BAD", 0}, {"DENIED", 0}};

  void add(const Json& report) {
    pids.insert(report.at("pid").get<int64_t>());
    qps += report.at("qps").size();
    for (const Json& port : report.at("ports")) add_port(port);
    for (const Json& peer : report.at("peers"))
      for (const Json& ev : peer.at("evs")) ++paths[ev.at("state").get<std::string>()];
  }
  Json json() const {
    Json list = Json::array();
    for (const auto& [number, port] : ports) list.push_back(port);
    return {{"qps", qps}, {"ports", list}, {"paths", paths}};
  }

 private:
  // A port is up when it is for one connection at least.
  void add_port(const Json& port) {
    const auto number = port.at("port").get<uint64_t>();
    Json& sum = ports.try_emplace(number, Json{{"port", number}, {"up", false}}).first->second;
    sum["up"] = sum["up"].get<bool>() || port.at("up").get<bool>();
    for (const char* key : kSums) sum[key] = sum.value(key, uint64_t{0}) + port.at(key).get<uint64_t>();
  }
};

}  // namespace

Json processes_of(const Json& reports) {
  std::map<std::tuple<std::string, int64_t, std::string>, Sum> processes;
  for (const Json& report : reports)
    processes[{report.at("device").get<std::string>(), report.at("pid").get<int64_t>(),
               report.at("program").get<std::string>()}]
        .add(report);
  Json all = Json::array();
  for (const auto& [name, sum] : processes) {
    Json process = sum.json();
    std::tie(process["device"], process["pid"], process["program"]) = name;
    all.push_back(std::move(process));
  }
  return all;
}

Json totals_of(const Json& reports) {
  std::map<std::string, Sum> devices;
  for (const Json& report : reports) devices[report.at("device").get<std::string>()].add(report);
  Json all = Json::array();
  for (const auto& [name, sum] : devices) {
    Json device = sum.json();
    device["device"] = name;
    device["processes"] = sum.pids.size();
    all.push_back(std::move(device));
  }
  return all;
}

}  // namespace mrc::mrcd
