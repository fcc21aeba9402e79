// WebState: the content of the web page and the metrics of this host, and the answer of /api/state. [MRC-MON-8]
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctl/deny.h"
#include "ctl/messages.h"
#include "event.h"
#include "monitor_status.h"
#include "peer_latency.h"
#include "totals.h"

namespace mrc::mrcd {

struct WebDevice {
  std::string device;
  uint32_t planes = 0;
  std::vector<uint32_t> ports_down;
  std::vector<ctl::DenyRule> denies;
};
// Rules with a text for people.
void to_json(nlohmann::json& j, const WebDevice& device);

struct WebState {
  std::vector<WebDevice> devices;
  std::vector<Totals> totals;              // of all processes of each device
  std::vector<ctl::DeviceReport> reports;  // of single processes; empty without the token
  LatencyByDevice latency;                 // for the metrics alone
  MonitorStatus monitor;
  std::vector<Event> events;
  size_t processes = 0;
  bool may_change = false;
};
void to_json(nlohmann::json& j, const WebState& state);

}  // namespace mrc::mrcd
