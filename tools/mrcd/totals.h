// Sums of processes' reports. [MRC-MON-8]
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "ctl/messages.h"

namespace mrc::mrcd {

// Of some connections: number of QPs, counters of each port, number of paths in each state. A port is up when at least
// one connection reports it up.
struct Totals {
  std::string device;
  int64_t pid = 0;      // of the process if it is one; 0: of several
  std::string program;  // of that process
  std::set<int64_t> pids;
  uint64_t qps = 0;
  std::map<uint32_t, ctl::PortReport> ports;
  std::map<std::string, uint64_t> paths = {{"GOOD", 0}, {"ASSUMED_BAD", 0}, {"DENIED", 0}};

  void add(const ctl::DeviceReport& report);
};
// Of a device, with the number of its processes in place of their identity: for clients that may see a host's totals,
// but not its processes.
void to_json(nlohmann::json& j, const Totals& totals);

// Each process on each device, all of its connections together: they appear once, as a metric's labels have to.
std::vector<Totals> processes_of(const std::vector<ctl::DeviceReport>& reports);
// Each device, all of its processes together.
std::vector<Totals> totals_of(const std::vector<ctl::DeviceReport>& reports);

}  // namespace mrc::mrcd
