#include "service.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "ctl/delays.h"
#include "ctl/printable.h"
#include "report_check.h"

namespace mrc::mrcd {

namespace {

using Json = nlohmann::json;

// "app (100)": for the events of a process.
std::string process_text(const Clients::Entry& process) {
  return process.program + " (" + std::to_string(process.peer.pid) + ")";
}

}  // namespace

Service::Service(std::function<void()> changed, WallClock wall_clock)
    : events_(&clients_, std::move(wall_clock)),
      devices_(Devices::Context{[this](const SharedDevice* device) { return clients_.has_process_on(device); },
                                [this](const std::string& name) { latencies_.drop(name); }, std::move(changed)}),
      changes_(&devices_, &clients_, &events_),
      reports_([this](uint64_t token) { return clients_.request_reports(token); }),
      requests_(Requests::Parts{&clients_, &devices_, &events_, &changes_, &reports_}) {}

void Service::add_device(std::unique_ptr<SharedDevice> device) {
  const Checked checked(this);
  devices_.add(std::move(device));
}

ClientId Service::connect(Client* client, const Peer& peer) {
  const Checked checked(this);
  return clients_.add(client, peer);
}

void Service::disconnect(ClientId id) {
  const Checked checked(this);
  const std::optional<Clients::Entry> entry = clients_.remove(id);
  if (!entry) return;
  reports_.forget(id);
  if (entry->device == nullptr) return;
  entry->device->forget(id);
  latencies_.end(id);
  events_.add_of(entry->peer, {"process", process_text(*entry) + " has gone", entry->device->name()});
  devices_.drop_if_unused(entry->device);
}

// A failing message of a peer has no other effect.
void Service::message(ClientId id, const Json& message, Instant now) {
  const Checked checked(this);
  const Clients::Entry* const entry = clients_.find(id);
  if (entry == nullptr || !message.is_object()) return;
  try {
    if (message.contains("hello")) register_client(id, message["hello"].get<ctl::Registration>());
    if (message.contains("holds") && entry->device != nullptr)
      entry->device->set_holds(id, message["holds"].get<ctl::Holds>());
    if (message.contains("path") && entry->device != nullptr) take_path(id, message["path"].get<ctl::PathChange>());
    if (message.contains("report")) take_report(id, message["report"], now);
    if (message.contains("request")) requests_.answer(id, message, now);
  } catch (const Json::exception& e) {
    Json answer = {{"error", EINVAL}, {"why", std::string("not a message of this protocol: ") + e.what()}};
    if (message.contains("request")) answer["answer"] = message["request"];
    entry->client->send(answer);
  }
}

// [MRC-MRCD-4]
void Service::register_client(ClientId id, ctl::Registration registration) {
  Clients::Entry& entry = *clients_.find(id);
  const std::string& name = registration.device;
  if (registration.program.size() > Devices::kMaxName) registration.program.resize(Devices::kMaxName);
  registration.program = ctl::printable(std::move(registration.program));
  if (name.empty() || name.size() > Devices::kMaxName || !ctl::is_printable(name) ||
      !ctl::is_printable(registration.ev_mode)) {
    entry.client->send(
        {{"error", EINVAL}, {"why", "hello names a device, by 64 bytes at most, without control characters"}});
    return;
  }
  SharedDevice* now = devices_.find(name);
  if (now == nullptr) now = devices_.make(registration);
  if (now == nullptr) {
    entry.client->send({{"error", ENOSPC}, {"why", "no device of that shape, or too many that are not configured"}});
    return;
  }
  SharedDevice* before = entry.device;
  entry.program = registration.program;
  entry.device = now;
  if (before != nullptr && before != now) {
    before->forget(id);
    latencies_.end(id);
    devices_.drop_if_unused(before);
  }
  entry.client->send({{"state", now->state_for(entry.peer.uid)}});
  if (before != now) events_.add_of(entry.peer, {"process", process_text(entry) + " opened " + name, name});
}

// [MRC-MRCD-5]
void Service::take_path(ClientId from, const ctl::PathChange& path) {
  const Clients::Entry& entry = *clients_.find(from);
  const std::optional<mrc_ctl_ev> ev = ctl::parse_ev_hex(path.ev, path.port);
  if (!ev) return;
  if (path.state != MRC_CTL_EV_GOOD && path.state != MRC_CTL_EV_ASSUMED_BAD) return;
  // Every user may send this: without a change no process is notified, and no event pushes out others.
  if (!entry.device->feed(entry.peer, path.profile, *ev, static_cast<mrc_ctl_ev_state>(path.state.number()))) return;
  clients_.notify_of_observation(from, {{"path", path}});
  events_.add_of(entry.peer, {"path",
                              "EV " + ctl::ev_hex(ev->val) + " of profile " + std::to_string(path.profile) +
                                  " on port " + std::to_string(path.port) +
                                  (path.state == MRC_CTL_EV_GOOD ? " is good again" : " is assumed bad"),
                              entry.device->name()});
}

void Service::take_report(ClientId from, const Json& report, Instant now) {
  const uint64_t token = report.at("token").get<ctl::Whole<uint64_t>>();
  const Clients::Entry& entry = *clients_.find(from);
  const bool is_last = token == ctl::kLastFigures;
  if (!is_last && !reports_.awaits(from, now)) return;
  auto data = parse_report(report.at("data"));
  if (data && entry.device != nullptr) {
    data->device = entry.device->name();
    if (is_last) return latencies_.last(from, data->device, data->peers);
    latencies_.report(from, data->device, data->peers);  // also one that is too late for those that requested it
  }
  if (is_last) return;
  if (data) {
    // A process may report anything except its own identity.
    data->pid = entry.peer.pid;
    data->uid = entry.peer.uid;
  }
  reports_.take(from, token, std::move(data), now);
}

void Service::tick(Instant now) {
  const Checked checked(this);
  reports_.tick(now);
}

Status Service::change_rule(SharedDevice* device, bool denies, const Json& rule, const std::string& by) {
  return changes_.change_rule(device, denies, rule, by);
}

Status Service::change_port(SharedDevice* device, const ctl::PortChange& change, const std::string& by) {
  return changes_.change_port(device, change, by);
}

void Service::gather(Instant now, ReportGathering::Done done) {
  const Checked checked(this);
  reports_.gather(now, std::move(done));
}

// What the parts cannot check alone: what they refer to in others.
void Service::check() const {
  if constexpr (!kCheckInvariants) return;
  const auto& devices = devices_.by_name();
  if (!pace_.due(devices.size() * (1 + clients_.entries().size()))) return;
  for (const auto& [id, entry] : clients_.entries()) {
    if (entry.device == nullptr) continue;
    const auto is = [on = entry.device](const auto& device) { return device.second.get() == on; };
    MRC_INVARIANT(std::any_of(devices.begin(), devices.end(), is));
  }
  for (const ClientId id : reports_.missing()) {
    const Clients::Entry* const client = clients_.find(id);
    MRC_INVARIANT(client != nullptr && client->device != nullptr);
  }
}

}  // namespace mrc::mrcd
