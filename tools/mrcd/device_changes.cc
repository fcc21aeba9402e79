#include "device_changes.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace mrc::mrcd {

namespace {

constexpr const char* kKinds[] = {"format", "EV", "CC"};

// The errors after which part of a batch may be done: at a missing or invalid entry. A batch refused
// for its size, for unsupported features or for its users is refused before the first entry; and followers, which do
// not count users, would execute the refused call.
bool stops_within_a_batch(int error) {
  return error == ENOENT || error == EINVAL;
}

Status status_of(int error) {
  return error == 0 ? Status() : Error{error, ""};
}

bool seen_in_file(const ctl::DenyRule& rule) {
  return rule.by != kMonitor;
}

}  // namespace

// A rule from before this refusal existed, or for another shape of the device, can be lifted.
Status DeviceChanges::change_rule(SharedDevice* device, bool denies, const nlohmann::json& given,
                                  const std::string& by) {
  nlohmann::json text = given;
  text["by"] = by;
  const Result<ctl::DenyRule> rule = ctl::parse_deny(text);
  if (!rule) return rule.error();
  if (denies)
    if (std::string why = device->why_no_path(*rule); !why.empty()) return invalid(std::move(why));
  const int error = denies ? deny(device, *rule) : allow(device, *rule);
  if (error == EEXIST) return Error{error, "denied already: " + ctl::deny_text(*rule)};
  if (error == ENOENT) return Error{error, "not denied: " + ctl::deny_text(*rule)};
  return status_of(error);
}

Status DeviceChanges::change_port(SharedDevice* device, const ctl::PortChange& change, const std::string& by) {
  if (std::string why = device->why_no_port(change.port); !why.empty()) return invalid(std::move(why));
  return status_of(set_port(device, change.port, change.up, by));
}

Status DeviceChanges::change_profile(SharedDevice* device, const nlohmann::json& text, const std::string& by) {
  const std::optional<ctl::ProfileCall> call = ctl::parse_call(text);
  if (!call) return Error{EINVAL, ""};
  const int error = device->modify(*call);
  // A failed batch may have changed entries before the failing one; followers fail there, too.
  const bool batch = call->kind == ctl::ProfileKind::kEv && (call->mask & MRC_CTL_EV_PROFILE_EV_OP) != 0;
  if (error == 0 || (batch && stops_within_a_batch(error))) {
    clients_.notify_processes(device, {{"call", text}});
    events_.add({"profile",
                 std::string(kKinds[static_cast<int>(call->kind)]) + " profile " + std::to_string(call->id) +
                     " changed by " + by,
                 device->name()});
    devices_.changed(device);
  }
  return status_of(error);
}

Status DeviceChanges::allow_all(SharedDevice* device, const std::string& by) {
  if (!device->allow_all()) return status_of(ENOENT);
  clients_.notify_processes(device, {{"denies", nlohmann::json::array()}});
  events_.add({"allow", "every path, by " + by, device->name()});
  devices_.changed(device);
  return {};
}

int DeviceChanges::deny(SharedDevice* device, const ctl::DenyRule& rule) {
  if (!device->deny(rule)) return EEXIST;
  notify_denies(device);
  events_.add({"deny", ctl::deny_text(rule) + ", by " + rule.by + (rule.why.empty() ? "" : ": " + rule.why),
               device->name(), rule});
  if (seen_in_file(rule)) devices_.changed(device);
  return 0;
}

int DeviceChanges::allow(SharedDevice* device, const ctl::DenyRule& rule) {
  const bool in_file = std::any_of(device->denies().begin(), device->denies().end(), [&](const ctl::DenyRule& there) {
    return there.same_paths(rule) && seen_in_file(there);
  });
  if (!device->allow(rule)) return ENOENT;
  notify_denies(device);
  events_.add({"allow", ctl::deny_text(rule) + ", by " + rule.by, device->name(), rule});
  if (in_file) devices_.changed(device);
  return 0;
}

int DeviceChanges::set_port(SharedDevice* device, uint32_t port, bool up, const std::string& by) {
  if (const int error = device->set_port(port, up)) return error;
  clients_.notify_processes(device, {{"ports_down", device->ports_down()}});
  events_.add({"port", "port " + std::to_string(port) + (up ? " on" : " off") + ", by " + by, device->name()});
  devices_.changed(device);
  return 0;
}

void DeviceChanges::notify_denies(const SharedDevice* device) {
  clients_.notify_processes(device, {{"denies", device->denies_json(false)}});
}

}  // namespace mrc::mrcd
