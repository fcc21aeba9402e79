// Event: an entry of the event log of this host, as shown by `mrcctl events` and the web page.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ctl/deny.h"

namespace mrc::mrcd {

struct Event {
  std::string what;  // deny, allow, port, profile, path, process, fault, healed
  std::string text;  // for people
  std::string device = {};
  std::optional<ctl::DenyRule> rule = {};  // deny, allow
  uint32_t plane = 0;                      // fault, healed; with the switches concerned
  std::string t0 = {}, t1 = {};
  double time = 0;                 // seconds since 1970; for people, nothing is decided by it
  std::optional<uid_t> user = {};  // the unprivileged user whose process caused it
};

inline void to_json(nlohmann::json& j, const Event& event) {
  j = {{"what", event.what}, {"text", event.text}, {"time", event.time}};
  if (!event.device.empty()) j["device"] = event.device;
  if (event.rule) j["rule"] = ctl::deny_json(*event.rule);
  if (event.plane != 0) j.update({{"plane", event.plane}, {"t0", event.t0}, {"t1", event.t1}});
}

}  // namespace mrc::mrcd
