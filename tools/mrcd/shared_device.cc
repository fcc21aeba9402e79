#include "shared_device.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>

#include "device/profiles.h"
#include "device/srv6.h"

namespace mrc::mrcd {

namespace {

using Json = nlohmann::json;

// `ev_mode` is reported by a process: an unknown word counts as the default.
device::EvNaming naming_of(const std::string& ev_mode) {
  return device::naming_of(device::value_of<device::EvMode>(ev_mode).value_or(device::EvMode::kUdpPort));
}

// The names of a device's EVs. With SRv6 paths they are those that every process has; else a process has ports or
// labels of its own, and automatic profiles are the same in number only.
std::vector<mrc_ctl_ev> names(uint32_t planes, const std::string& ev_mode, uint32_t count) {
  PerEv<core::EvEntry> evs;
  for (uint32_t i = 0; i < count; ++i) evs.push_back({i / planes + 1, plane_at(i % planes)});
  const device::EvNaming naming = naming_of(ev_mode);
  if (naming != device::EvNaming::kPort) device::label_paths(planes, &evs);
  return device::ev_names(evs, naming);
}

}  // namespace

SharedDevice::SharedDevice(std::string name, uint32_t planes, const std::string& ev_mode, uint32_t evs)
    : name_(std::move(name)),
      planes_(planes),
      ev_mode_(ev_mode),
      evs_(evs),
      store_(device::controller_limits(planes, naming_of(ev_mode)), names(planes, ev_mode, evs)) {}

std::string SharedDevice::why_no_port(uint32_t port) const {
  if (port >= 1 && port <= planes_) return "";
  return "device '" + name_ + "' has no port " + std::to_string(port) + ": it has 1 to " + std::to_string(planes_);
}

std::string SharedDevice::why_no_path(const ctl::DenyRule& rule) const {
  if (rule.plane > planes_)
    return "device '" + name_ + "' has no plane " + std::to_string(rule.plane) + ": it has 1 to " +
           std::to_string(planes_);
  if (!rule.via.empty() && ev_mode_ != "srv6")
    return "no path of device '" + name_ + "' goes via uSIDs: its ev_mode is " + ev_mode_;
  if (rule.label != 0 && naming_of(ev_mode_) == device::EvNaming::kPort)
    return "no EV of device '" + name_ + "' has a flow label: its ev_mode is " + ev_mode_;
  return "";
}

int SharedDevice::modify(const ctl::ProfileCall& call) {
  const int error = call.apply(&store_);
  if (call.kind != ctl::ProfileKind::kEv) return error;
  for (const mrc_ctl_ev_op_entry& entry : call.entries) observations_.forget(call.id, entry.ev);
  observations_.keep_entries_of(store_);
  check();
  return error;
}

bool SharedDevice::feed(const Peer& observer, uint64_t profile, const mrc_ctl_ev& ev, mrc_ctl_ev_state state) {
  const Checked checked(this);
  if (!observer.privileged) return observations_.feed(observer.uid, store_, profile, ev, state);
  observations_.forget(profile, ev);
  return store_.feed(profile, ev, state).has_value();
}

int SharedDevice::set_port(uint32_t port, bool up) {
  if (!why_no_port(port).empty()) return EINVAL;
  if (up)
    ports_down_.erase(port);
  else
    ports_down_.insert(port);
  check();
  return 0;
}

bool SharedDevice::deny(const ctl::DenyRule& rule) {
  for (const ctl::DenyRule& there : denies_)
    if (there.same_paths(rule)) return false;
  denies_.push_back(rule);
  check();
  return true;
}

bool SharedDevice::allow(const ctl::DenyRule& rule) {
  const auto end = std::remove_if(denies_.begin(), denies_.end(),
                                  [&](const ctl::DenyRule& there) { return there.same_paths(rule); });
  const bool found = end != denies_.end();
  denies_.erase(end, denies_.end());
  return found;
}

bool SharedDevice::allow_all() {
  const bool any = !denies_.empty();
  denies_.clear();
  return any;
}

void SharedDevice::set_holds(ClientId client, const ctl::Holds& holds) {
  holds_[client] = {{holds.ev.begin(), holds.ev.end()}, {holds.cc.begin(), holds.cc.end()}};
  count_users();
}

void SharedDevice::forget(ClientId client) {
  if (holds_.erase(client) != 0) count_users();
}

void SharedDevice::count_users() {
  Users evs, ccs;
  for (const auto& [id, count] : store_.ev_users()) evs[id] = 0;
  for (const auto& [id, count] : store_.cc_users()) ccs[id] = 0;
  for (const auto& [client, held] : holds_) {
    for (const auto& [id, count] : held.first) evs[id] += count;
    for (const auto& [id, count] : held.second) ccs[id] += count;
  }
  for (const auto& [id, count] : evs) store_.set_ev_users(id, count);
  for (const auto& [id, count] : ccs) store_.set_cc_users(id, count);
}

std::vector<Json> SharedDevice::denies_json(bool for_file) const {
  std::vector<Json> denies;
  for (const ctl::DenyRule& rule : denies_)
    if (!for_file || rule.by != kMonitor) denies.push_back(ctl::deny_json(rule));
  return denies;
}

ctl::DeviceState SharedDevice::state_of(const ctl::ProfileStore& profiles, bool for_file) const {
  return {ctl::calls_of(profiles, !for_file), denies_json(for_file), {ports_down_.begin(), ports_down_.end()}};
}

ctl::DeviceState SharedDevice::state_for(uid_t user) const {
  ctl::ProfileStore view = store_.copy();
  observations_.apply(user, &view);
  return state_of(view, false);
}

ctl::DeviceState SharedDevice::whole_state() const {
  ctl::ProfileStore view = store_.copy();
  observations_.apply_all(&view);
  return state_of(view, false);
}

ctl::DeviceState SharedDevice::state_for_file() const {
  return state_of(store_, true);
}

bool SharedDevice::unconfigured() const {
  return denies_.empty() && ports_down_.empty() && store_.format_ids().empty() && store_.ev_ids().empty() &&
         store_.cc_ids().empty();
}

bool SharedDevice::restore(const ctl::DeviceState& state) {
  bool fits = true;
  for (const Json& text : state.calls)
    if (const std::optional<ctl::ProfileCall> call = ctl::parse_call(text); !call || modify(*call) != 0) fits = false;
  for (const Json& text : state.denies) {
    if (const Result<ctl::DenyRule> rule = ctl::parse_deny(text))
      deny(*rule);
    else
      fits = false;
  }
  for (const uint32_t port : state.ports_down)
    if (set_port(port, false) != 0) fits = false;
  return fits;
}

void SharedDevice::check() const {
  if constexpr (!kCheckInvariants) return;
  for (const uint32_t port : ports_down_) MRC_INVARIANT(why_no_port(port).empty());
  observations_.check(store_);
  if (!pace_.due(denies_.size() * denies_.size())) return;
  for (auto rule = denies_.begin(); rule != denies_.end(); ++rule)
    MRC_INVARIANT(std::none_of(denies_.begin(), rule, [&](const auto& other) { return rule->same_paths(other); }));
}

}  // namespace mrc::mrcd
