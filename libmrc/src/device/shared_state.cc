#include "device/shared_state.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/endpoint.h"
#include "ctl/call.h"
#include "ctl/printable.h"
#include "device/log.h"
#include "device/setting_words.h"
#include "device/srv6.h"
#include "invariant.h"

namespace mrc::device {

namespace {

using Json = nlohmann::json;

constexpr Duration kFirstWait = Duration::milliseconds(500);
constexpr size_t kPeersInPart = 128;  // with 32 addresses and the longest numbers: less than half a MiB

ctl::Holds holds_of(const ctl::ProfileStore& store) {
  const auto evs = store.ev_users(), ccs = store.cc_users();
  return {{evs.begin(), evs.end()}, {ccs.begin(), ccs.end()}};
}

}  // namespace

void SharedState::start() {
  const Settings& s = parts_.facts.config.settings;
  if (s.mrcd_socket.empty()) return;
  if (s.ev_mode == EvMode::kSrv6)  // checked when the configuration was read
    if (auto plan = srv6_plan(s, static_cast<uint32_t>(parts_.facts.config.planes.size()))) plan_ = *std::move(plan);
  {
    const DeviceLock lock(parts_.mutex);
    parts_.profiles.set_holds_observer([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { on_holds_locked(); });
  }
  if (!link_.open(s.mrcd_socket, this)) return;
  link_.wait_for_message(kFirstWait);
}

Json SharedState::registration() {
  const ctl::Registration message = {parts_.facts.config.name,
                                     program_invocation_short_name,
                                     parts_.facts.slot,
                                     static_cast<uint32_t>(parts_.facts.config.planes.size()),
                                     word_of(parts_.facts.config.settings.ev_mode),
                                     static_cast<uint32_t>(parts_.facts.evs.size())};
  const DeviceLock lock(parts_.mutex);
  return {{"hello", message}, {"holds", holds_of(parts_.profiles.store())}};
}

void SharedState::on_connected() {
  const DeviceLock lock(parts_.mutex);
  delays_.on_connected();
  on_holds_locked();
}

// Without these figures, what came after the last report would be lost, and with it all of a process that ends before
// the first.
void SharedState::stop() {
  if (link_.connected()) {
    try {
      DelayReports::Peers released;
      const ctl::DeviceReport report = report_for_daemon(&released);
      send_last(released);
      send_last(report.peers);
    } catch (const std::bad_alloc&) {
    }
  }
  link_.close();
  ignored_.log_totals();
}

void SharedState::on_peer_released_locked(ctl::PeerReport last) {
  try {
    delays_.on_released(std::move(last));
  } catch (const std::bad_alloc&) {  // its last figures are lost
  }
}

ctl::DeviceReport SharedState::report_for_daemon(DelayReports::Peers* released) {
  {
    const DeviceLock lock(parts_.mutex);
    delays_.begin();
  }
  ctl::DeviceReport report = work_.report();
  const DeviceLock lock(parts_.mutex);
  *released = delays_.next(&report.peers);
  return report;
}

// Figures of released peers come first: the report may have other peers of their numbers.
void SharedState::answer(uint64_t token) {
  DelayReports::Peers released;
  ctl::DeviceReport report = report_for_daemon(&released);
  send_last(released);
  link_.post({{"report", ctl::ReportAnswer{token, std::move(report)}}});
}

// In parts, because only a report that is requested may be a long line.
void SharedState::send_last(const DelayReports::Peers& peers) {
  ctl::DeviceReport part;
  const auto send = [&] {
    if (part.peers.empty()) return;
    link_.post({{"report", ctl::ReportAnswer{ctl::kLastFigures, part}}});
    part.peers.clear();
  };
  for (const ctl::PeerReport& peer : peers) {
    if (ctl::is_empty(peer.completion) && ctl::is_empty(peer.retransmission)) continue;
    part.peers.push_back(peer);
    part.peers.back().evs.clear();
    if (part.peers.size() == kPeersInPart) send();
  }
  send();
}

int SharedState::modify(Json call) {
  return link_.connected() ? link_.request({{"do", "modify"}, {"call", std::move(call)}}) : EIO;
}

int SharedState::modify_port(uint32_t port, bool up) {
  if (!link_.connected()) return EIO;
  Json request = ctl::PortChange{port, up};
  request["do"] = "port";
  return link_.request(std::move(request));
}

void SharedState::on_ev_change_locked(const ctl::EvChange& change) {
  if (!link_.connected()) return;
  link_.post({{"path", ctl::PathChange{change.profile_id, ctl::ev_hex(change.ev.val), change.ev.port,
                                       static_cast<int>(change.state), change.losses}}});
}

void SharedState::on_holds_locked() {
  if (!link_.connected()) return;
  try {
    link_.post({{"holds", holds_of(parts_.profiles.store())}});
  } catch (const std::bad_alloc&) {  // notified with the next change
  }
}

// [MRC-MRCD-6]
void SharedState::deny_locked(core::PeerId peer) {
  core::Endpoint& endpoint = *parts_.engine.endpoint;
  const core::PeerDescription& description = endpoint.peer_description(peer);
  PerPlane<IpAddress> addresses;
  for (const core::PlaneAddress& plane : description.planes) addresses.push_back(plane.addr);
  PerPlane<uint32_t> number(parts_.facts.config.planes.size());
  const Instant now = parts_.clock.now();
  for (const EvIndex i : parts_.facts.evs.ids()) {
    const core::EvEntry& ev = parts_.facts.evs[i];
    const uint32_t n = number[ev.plane]++;
    bool denied = false;
    if (!denies_.empty()) {
      datapath::UsidList usids;
      if (plan_ != nullptr && addresses.has(ev.plane) && !addresses[ev.plane].is_zero())
        usids = datapath::usids_of(plan_->path(ev.plane, n, addresses[ev.plane]));
      const ctl::PathView view{port_of(ev.plane), ev.value, usids, addresses};
      for (const ctl::DenyRule& rule : denies_) denied = denied || ctl::covers(rule, view);
    }
    endpoint.set_ev_denied(now, peer, i, denied);
  }
}

// QPs that had no path left have no timer either.
void SharedState::wake_senders_locked() {
  parts_.progress.transmit(parts_.clock.now());
}

// A daemon of another version, or another program, must not end the process.
void SharedState::on_message(const Json& message) {
  try {
    for (const auto& [key, value] : message.items()) {
      if (key == "state") take_state(value.get<ctl::DeviceState>());
      if (key == "call") take_call(value);
      if (key == "denies") take_denies(value.get<std::vector<Json>>());
      if (key == "ports_down") take_ports(value.get<std::vector<ctl::Whole<uint32_t>>>(), false);
      if (key == "path") take_path(value.get<ctl::PathChange>());
      if (key == "want") answer(value.get<ctl::Whole<uint64_t>>());
    }
  } catch (const Json::exception& e) {  // a missing key, another type, a number out of range
    ignored_.add(IgnoredInput::Kind::kMessage, std::string("malformed: ") + e.what());
  } catch (const std::bad_alloc&) {
    log_once(LogLevel::kError, "device '" + parts_.facts.config.name +
                                   "': out of memory, a message from mrcd is lost: the state differs from mrcd's until "
                                   "the device connects again");
  }
}

std::optional<ctl::ProfileCall> SharedState::parsed_call(const Json& text) {
  std::optional<ctl::ProfileCall> call = ctl::parse_call(text);
  if (!call) ignored_.add(IgnoredInput::Kind::kCall, "it has no form that this library knows");
  return call;
}

// [MRC-MRCD-4]
void SharedState::take_state(const ctl::DeviceState& state) {
  std::vector<ctl::ProfileCall> calls;
  for (const Json& text : state.calls)
    if (std::optional<ctl::ProfileCall> call = parsed_call(text)) calls.push_back(*std::move(call));
  {
    const DeviceLock lock(parts_.mutex);
    parts_.profiles.replace(calls);
    wake_senders_locked();
  }
  take_denies(state.denies);
  take_ports(state.ports_down, true);
}

void SharedState::take_call(const Json& text) {
  const std::optional<ctl::ProfileCall> call = parsed_call(text);
  if (!call) return;
  int error;
  {
    const DeviceLock lock(parts_.mutex);
    error = parts_.profiles.apply(*call);
    wake_senders_locked();
  }
  if (error != 0)
    log_line(LogLevel::kInfo, "device '" + parts_.facts.config.name + "' cannot follow a change of profile " +
                                  std::to_string(call->id) + ": error " + std::to_string(error));
}

void SharedState::take_denies(const std::vector<Json>& rules) {
  std::vector<ctl::DenyRule> made;
  for (const Json& text : rules) {
    if (Result<ctl::DenyRule> rule = ctl::parse_deny(text))
      made.push_back(*std::move(rule));
    else
      ignored_.add(IgnoredInput::Kind::kDenyRule, ctl::printable(rule.error().text));
  }
  set_denies(std::move(made));
}

void SharedState::set_denies(std::vector<ctl::DenyRule> rules) {
  const DeviceLock lock(parts_.mutex);
  const bool any = !denies_.empty() || !rules.empty();
  denies_ = std::move(rules);
  if (!any) return;
  for (core::PeerId peer : parts_.engine.endpoint->peers()) deny_locked(peer);
  wake_senders_locked();
}

// The monitor would have lifted its denies at some time; no other component does [MRC-MRCD-1].
void SharedState::on_daemon_absent() {
  std::vector<ctl::DenyRule> rules;
  {
    const DeviceLock lock(parts_.mutex);
    std::copy_if(denies_.begin(), denies_.end(), std::back_inserter(rules),
                 [](const ctl::DenyRule& rule) { return rule.by != ctl::kMonitor; });
    if (rules.size() == denies_.size()) return;
  }
  set_denies(std::move(rules));
}

// `all`: the daemon's state replaces the current one; otherwise it is a change, and other parts stay.
void SharedState::take_ports(const std::vector<ctl::Whole<uint32_t>>& down, bool all) {
  PlaneSet planes;
  const size_t ports = parts_.facts.config.planes.size();
  for (const uint32_t port : down) {
    if (port >= 1 && port <= ports)
      planes.insert(plane_of_port(port));
    else
      ignored_.add(IgnoredInput::Kind::kPort,
                   std::to_string(port) + ", this device has ports 1 to " + std::to_string(ports));
  }
  const DeviceLock lock(parts_.mutex);
  const PlaneSet changed = all ? PlaneSet::all() : planes ^ ports_down_;
  ports_down_ = planes;
  const Instant now = parts_.clock.now();
  for (const PlaneId plane : PlaneSet::all(parts_.facts.config.planes.size()) & changed)
    parts_.planes.enable(now, plane, !planes.contains(plane));
  wake_senders_locked();
  check();
}

// Only planes of this device are switched off, whatever the daemon sends.
void SharedState::check() const {
  MRC_INVARIANT(PlaneSet::all(parts_.facts.config.planes.size()).contains_all(ports_down_));
}

// [MRC-MRCD-5]
void SharedState::take_path(const ctl::PathChange& path) {
  const std::optional<mrc_ctl_ev> ev = ctl::parse_ev_hex(path.ev, path.port);
  if (!ev) return ignored_.add(IgnoredInput::Kind::kPath, "'" + ctl::printable(path.ev) + "' is no EV");
  if (path.state != MRC_CTL_EV_GOOD && path.state != MRC_CTL_EV_ASSUMED_BAD)
    return ignored_.add(IgnoredInput::Kind::kPath,
                        "state " + std::to_string(path.state.number()) + ", allowed: GOOD and ASSUMED_BAD");
  const DeviceLock lock(parts_.mutex);
  work_.take_ev_change_locked(path.profile, *ev, static_cast<mrc_ctl_ev_state>(path.state.number()), path.losses);
}

}  // namespace mrc::device
