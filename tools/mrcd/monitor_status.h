// The report of the monitor: to mrcctl, the web page and the metrics, and to the monitors of other hosts. [MRC-MON-7,
// MRC-MON-8]
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "ctl/messages.h"
#include "judge.h"

namespace mrc::mrcd {

struct LoopStatus {
  std::string t1;  // empty: the loop turns at the T0
  bool bad = false;
  double loss = 0;    // share of its probes; of a bad one, when it was found bad
  double rtt_us = 0;  // smoothed
  uint64_t sent = 0, lost = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LoopStatus, t1, bad, loss, rtt_us, sent, lost)

struct PlaneStatus {
  uint32_t plane = 1;
  std::string t0;
  std::vector<LoopStatus> paths;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlaneStatus, plane, t0, paths)

// The observation of one path by the monitor of another host.
struct SeenPath {
  uint32_t plane = 1;
  std::string t0, t1;
  bool bad = false;
  double loss = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SeenPath, plane, t0, t1, bad, loss)

struct OtherHost {
  std::string host;
  std::vector<SeenPath> observations;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OtherHost, host, observations)

struct MonitorStatus {
  bool running = false;
  std::string host, device;
  std::vector<PlaneStatus> planes;
  std::vector<Finding> findings;
  std::vector<OtherHost> peers;
};
inline void to_json(nlohmann::json& j, const MonitorStatus& status) {
  j = {{"running", status.running}, {"host", status.host},   {"device", status.device},
       {"planes", status.planes},   {"peers", status.peers}, {"findings", nlohmann::json::array()}};
  for (const Finding& finding : status.findings) j["findings"].push_back(finding_json(finding));
}

// The datagram between monitors. Short, so that many paths fit into one: plane, T0, T1, bad, loss.
struct Observed {
  ctl::Whole<int> mrcd;  // version of the form: 1
  std::string host;
  std::vector<std::tuple<ctl::Whole<uint32_t>, std::string, std::string, bool, double>> observations;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Observed, mrcd, host, observations)

}  // namespace mrc::mrcd
