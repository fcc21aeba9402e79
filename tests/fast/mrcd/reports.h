// libmrc's report of a process, in the form of the message.
#pragma once

#include <nlohmann/json.hpp>

#include "ctl/messages.h"

namespace mrc::mrcd {

inline ctl::DeviceReport device_report(int64_t pid = 1, uint64_t tx_bytes = 5) {
  ctl::DeviceReport report;
  report.pid = pid;
  report.device = "mrc0";
  report.program = "app";
  ctl::PortReport& port = report.ports.emplace_back();
  port.port = 1;
  port.up = true;
  port.tx_bytes = tx_bytes;
  port.rx_bytes = 6;
  return report;
}

inline ctl::EvReport ev_report(const char* state) {
  ctl::EvReport ev;
  ev.ev = ev.port = 1;
  ev.state = state;
  return ev;
}

}  // namespace mrc::mrcd
