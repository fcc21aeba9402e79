#include "report_check.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mrc::mrcd {

namespace {

constexpr size_t kMaxPorts = 32;
constexpr size_t kMaxLabel = 256;  // it becomes a label of every sample

// They are counted by state, so other states are invalid.
bool is_state(const std::string& state) {
  return state == "GOOD" || state == "SKIP" || state == "ASSUMED_BAD" || state == "DENIED";
}

bool is_whole(const ctl::DelayReport& delays) {
  return delays.counts.empty() || delays.counts.size() == ctl::DelayReport::kCounts;
}

bool within_limits(const ctl::DeviceReport& report) {
  return report.device.size() <= kMaxLabel && report.program.size() <= kMaxLabel && report.ports.size() <= kMaxPorts &&
         std::all_of(report.peers.begin(), report.peers.end(), [](const ctl::PeerReport& peer) {
           return is_whole(peer.completion) && is_whole(peer.retransmission) &&
                  std::all_of(peer.evs.begin(), peer.evs.end(),
                              [](const ctl::EvReport& ev) { return is_state(ev.state); });
         });
}

}  // namespace

std::optional<ctl::DeviceReport> parse_report(const nlohmann::json& report) {
  try {
    auto made = report.get<ctl::DeviceReport>();
    if (within_limits(made)) return made;
  } catch (const nlohmann::json::exception&) {  // a missing key, another type
  }
  return std::nullopt;
}

bool is_report(const nlohmann::json& report) {
  return parse_report(report).has_value();
}

}  // namespace mrc::mrcd
