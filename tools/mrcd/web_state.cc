#include "web_state.h"

namespace mrc::mrcd {

void to_json(nlohmann::json& j, const WebDevice& device) {
  j = {{"device", device.device},
       {"planes", device.planes},
       {"ports_down", device.ports_down},
       {"denies", nlohmann::json::array()}};
  for (const ctl::DenyRule& rule : device.denies) {
    j["denies"].push_back(ctl::deny_json(rule));
    j["denies"].back()["text"] = ctl::deny_text(rule);
  }
}

void to_json(nlohmann::json& j, const WebState& state) {
  j = {{"devices", state.devices},      {"totals", state.totals}, {"reports", state.reports},
       {"monitor", state.monitor},      {"events", state.events}, {"processes", state.processes},
       {"may_change", state.may_change}};
}

}  // namespace mrc::mrcd
