#include "service.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "ctl/delays.h"
#include "ctl/printable.h"
#include "report_check.h"

namespace mrc::mrcd {

namespace {

using Json = nlohmann::json;

constexpr uint32_t kMaxPlanes = 32;
constexpr uint32_t kMaxEvs = 4096;
constexpr int kFileVersion = 1;
constexpr size_t kMaxName = 64;  // of devices, modes and programs that a process names
constexpr const char* kNoPrivilege =
    "this needs CAP_NET_ADMIN, or membership of the group that the setting ctl_group names";
constexpr const char* kKinds[] = {"format", "EV", "CC"};

bool changes_something(const std::string& what) {
  return what == "modify" || what == "port" || what == "deny" || what == "allow";
}

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

void Service::add_device(std::unique_ptr<SharedDevice> device) {
  const std::string name = device->name();
  restore_kept(device.get());
  order_.push_back(name);
  devices_[name] = std::move(device);
  check();
}

// Any process can name a device, so their number is limited; and the file's entry for one is not lost to a process
// with the same device name and another shape.
SharedDevice* Service::make_device(const ctl::Registration& registration) {
  const std::string& name = registration.device;
  const uint32_t evs = std::min<uint32_t>(registration.evs, kMaxEvs);
  // Some may have outlived their processes for what was configured on them, and no longer is.
  for (const std::string& there : std::set<std::string>(made_)) drop_if_unused(devices_.at(there).get());
  if (registration.planes < 1 || registration.planes > kMaxPlanes || registration.ev_mode.size() > kMaxName ||
      made_.size() >= kMaxMadeDevices)
    return nullptr;
  const auto make = [&] {
    return std::make_unique<SharedDevice>(name, registration.planes, registration.ev_mode, evs);
  };
  auto device = make();
  restore_kept(device.get());
  if (kept_.contains(name)) device = make();  // its entry does not fit: none of it is used
  made_.insert(name);
  order_.push_back(name);
  return (devices_[name] = std::move(device)).get();
}

void Service::drop_if_unused(SharedDevice* device) {
  const std::string name = device->name();
  if (made_.count(name) == 0 || !device->unconfigured()) return;
  for (const auto& [id, entry] : clients_)
    if (entry.device == device) return;
  made_.erase(name);
  order_.erase(std::find(order_.begin(), order_.end(), name));
  devices_.erase(name);
  latencies_.drop(name);
}

void Service::restore_kept(SharedDevice* device) {
  const auto kept = kept_.find(device->name());
  if (kept != kept_.end() && device->restore(kept->second)) kept_.erase(kept);
}

// From now on the file has the device's state.
void Service::changed(const SharedDevice* device) {
  kept_.erase(device->name());
  changed_();
}

SharedDevice* Service::device(const std::string& name) {
  const auto found = devices_.find(name.empty() && !order_.empty() ? order_.front() : name);
  return found != devices_.end() ? found->second.get() : nullptr;
}

ClientId Service::connect(Client* client, const Peer& peer) {
  Entry& entry = clients_[next_client_];
  entry.client = client;
  entry.peer = peer;
  return next_client_++;
}

void Service::disconnect(ClientId id) {
  const Checked checked(this);
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  const Entry entry = std::move(found->second);
  clients_.erase(found);
  if (gathering_) std::erase(gathering_->missing, id);
  if (entry.device == nullptr) return;
  entry.device->forget(id);
  latencies_.end(id);
  event_of(entry,
           {"process", entry.program + " (" + std::to_string(entry.peer.pid) + ") has gone", entry.device->name()});
  drop_if_unused(entry.device);
}

bool Service::awaits_report(ClientId id, Instant now) const {
  const auto found = clients_.find(id);
  return found != clients_.end() && found->second.reports_until > now;
}

void Service::notify_all(const SharedDevice* device, const Json& message) {
  for (auto& [id, entry] : clients_)
    if (entry.device == device) entry.client->send(message);
}

void Service::event(Event event) {
  event.time = wall_clock_();
  for (auto& [id, entry] : clients_)
    if (entry.follows) entry.client->send({{"event", event}});
  history_.add(std::move(event));
}

// Of a process: any user may cause such events.
void Service::event_of(const Entry& entry, Event event) {
  if (!entry.peer.privileged) event.user = entry.peer.uid;
  this->event(std::move(event));
}

// A failing message of a peer has no other effect.
void Service::message(ClientId id, const Json& message, Instant now) {
  const Checked checked(this);
  const auto found = clients_.find(id);
  if (found == clients_.end() || !message.is_object()) return;
  Entry& entry = found->second;
  try {
    if (message.contains("hello")) register_client(id, &entry, message["hello"].get<ctl::Registration>());
    if (message.contains("holds") && entry.device != nullptr)
      entry.device->set_holds(id, message["holds"].get<ctl::Holds>());
    if (message.contains("path") && entry.device != nullptr) path(id, &entry, message["path"].get<ctl::PathChange>());
    if (message.contains("report")) take_report(id, message["report"], now);
    if (message.contains("request")) request(id, &entry, message, now);
  } catch (const Json::exception& e) {
    Json answer = {{"error", EINVAL}, {"why", std::string("not a message of this protocol: ") + e.what()}};
    if (message.contains("request")) answer["answer"] = message["request"];
    entry.client->send(answer);
  }
}

// [MRC-MRCD-4]
void Service::register_client(ClientId id, Entry* entry, ctl::Registration registration) {
  const std::string& name = registration.device;
  if (registration.program.size() > kMaxName) registration.program.resize(kMaxName);
  registration.program = ctl::printable(std::move(registration.program));
  if (name.empty() || name.size() > kMaxName || !ctl::is_printable(name) || !ctl::is_printable(registration.ev_mode)) {
    entry->client->send(
        {{"error", EINVAL}, {"why", "hello names a device, by 64 bytes at most, without control characters"}});
    return;
  }
  SharedDevice* now = device(name);
  if (now == nullptr) now = make_device(registration);
  if (now == nullptr) {
    entry->client->send({{"error", ENOSPC}, {"why", "no device of that shape, or too many that are not configured"}});
    return;
  }
  SharedDevice* before = entry->device;
  entry->program = registration.program;
  entry->device = now;
  if (before != nullptr && before != now) {
    before->forget(id);
    latencies_.end(id);
    drop_if_unused(before);
  }
  entry->client->send({{"state", now->state_for(entry->peer.uid)}});
  if (before != now)
    event_of(*entry, {"process", entry->program + " (" + std::to_string(entry->peer.pid) + ") opened " + name, name});
}

// [MRC-MRCD-5]
void Service::path(ClientId from, Entry* entry, const ctl::PathChange& path) {
  const std::optional<mrc_ctl_ev> ev = ctl::parse_ev_hex(path.ev, path.port);
  if (!ev) return;
  if (path.state != MRC_CTL_EV_GOOD && path.state != MRC_CTL_EV_ASSUMED_BAD) return;
  // Every user may send this: without a change no process is notified, and no event pushes out others.
  if (!entry->device->feed(entry->peer, path.profile, *ev, static_cast<mrc_ctl_ev_state>(path.state.number()))) return;
  for (auto& [id, other] : clients_)
    if (other.device == entry->device && id != from && (entry->peer.privileged || other.peer.uid == entry->peer.uid))
      other.client->send({{"path", path}});
  event_of(*entry,
           {"path",
            "EV " + ctl::ev_hex(ev->val) + " of profile " + std::to_string(path.profile) + " on port " +
                std::to_string(path.port) + (path.state == MRC_CTL_EV_GOOD ? " is good again" : " is assumed bad"),
            entry->device->name()});
}

void Service::request(ClientId id, Entry* entry, const Json& message, Instant now) {
  Json answer = {{"answer", message["request"]}, {"error", 0}};
  const auto what = message.at("do").get<std::string>();
  if (what == "reports") {
    gather(now, [this, id, answer](const Reports& reports) mutable {
      const auto requester = clients_.find(id);
      if (requester == clients_.end()) return;
      // Unprivileged clients see only their own user's processes.
      answer["data"] = Json::array();
      for (const ctl::DeviceReport& report : reports)
        if (requester->second.peer.privileged || report.uid == int64_t{requester->second.peer.uid})
          answer["data"].push_back(report);
      requester->second.client->send(answer);
    });
    return;
  }
  if (what == "follow") {
    entry->follows = true;
    entry->client->send(answer);
    return;
  }
  Result<Json> done = Error{EPERM, kNoPrivilege};
  if (!changes_something(what) || entry->peer.privileged) done = run(what, *entry, message);
  answer["error"] = done ? 0 : done.error().code;
  if (!done && !done.error().text.empty()) answer["why"] = done.error().text;
  if (done && !done->is_null()) answer["data"] = *std::move(done);
  const auto requester = clients_.find(id);
  if (requester != clients_.end()) requester->second.client->send(answer);
}

Result<Service::Json> Service::run(const std::string& what, const Entry& entry, const Json& message) {
  if (what == "show") return show();
  if (what == "events") return Json(history_.events());
  if (const auto more = more_.find(what); more != more_.end()) return more->second();
  if (!changes_something(what)) return Error{ENOSYS, "unknown request '" + what + "'"};
  SharedDevice* on = entry.device != nullptr ? entry.device : device(message.value("device", ""));
  if (on == nullptr)
    return Error{ENODEV, "no device '" + message.value("device", "") + "' is configured here or open in a process"};
  if (Status changed = change(what, on, entry, message); !changed) return std::move(changed).error();
  return Json();
}

Status Service::change(const std::string& what, SharedDevice* on, const Entry& entry, const Json& message) {
  if (what == "port") return change_port(on, message.get<ctl::PortChange>(), entry.peer.user);
  if (what == "modify") {
    const std::optional<ctl::ProfileCall> call = ctl::parse_call(message.at("call"));
    if (!call) return Error{EINVAL, ""};
    const int error = on->modify(*call);
    // A failed batch may have changed entries before the failing one; followers fail there, too.
    const bool batch = call->kind == ctl::ProfileKind::kEv && (call->mask & MRC_CTL_EV_PROFILE_EV_OP) != 0;
    if (error == 0 || (batch && stops_within_a_batch(error))) modify(on, message["call"], *call, entry.peer.user);
    return status_of(error);
  }
  if (what == "allow" && message.value("all", false)) {
    if (!on->allow_all()) return status_of(ENOENT);
    notify_all(on, {{"denies", Json::array()}});
    event({"allow", "every path, by " + entry.peer.user, on->name()});
    changed(on);
    return {};
  }
  return change_rule(on, what == "deny", message.at("rule"), entry.peer.user);
}

// A rule from before this refusal existed, or for another shape of the device, can be lifted.
Status Service::change_rule(SharedDevice* device, bool denies, const Json& given, const std::string& by) {
  Json text = given;
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

Status Service::change_port(SharedDevice* device, const ctl::PortChange& change, const std::string& by) {
  if (std::string why = device->why_no_port(change.port); !why.empty()) return invalid(std::move(why));
  return status_of(set_port(device, change.port, change.up, by));
}

void Service::modify(SharedDevice* device, const Json& call, const ctl::ProfileCall& parsed, const std::string& by) {
  notify_all(device, {{"call", call}});
  event({"profile",
         std::string(kKinds[static_cast<int>(parsed.kind)]) + " profile " + std::to_string(parsed.id) + " changed by " +
             by,
         device->name()});
  changed(device);
}

int Service::deny(SharedDevice* device, const ctl::DenyRule& rule) {
  if (!device->deny(rule)) return EEXIST;
  notify_all(device, {{"denies", device->denies_json(false)}});
  event({"deny", ctl::deny_text(rule) + ", by " + rule.by + (rule.why.empty() ? "" : ": " + rule.why), device->name(),
         rule});
  if (seen_in_file(rule)) changed(device);
  return 0;
}

int Service::allow(SharedDevice* device, const ctl::DenyRule& rule) {
  const bool in_file = std::any_of(device->denies().begin(), device->denies().end(), [&](const ctl::DenyRule& there) {
    return there.same_paths(rule) && seen_in_file(there);
  });
  if (!device->allow(rule)) return ENOENT;
  notify_all(device, {{"denies", device->denies_json(false)}});
  event({"allow", ctl::deny_text(rule) + ", by " + rule.by, device->name(), rule});
  if (in_file) changed(device);
  return 0;
}

int Service::set_port(SharedDevice* device, uint32_t port, bool up, const std::string& by) {
  if (const int error = device->set_port(port, up)) return error;
  notify_all(device, {{"ports_down", device->ports_down()}});
  event({"port", "port " + std::to_string(port) + (up ? " on" : " off") + ", by " + by, device->name()});
  changed(device);
  return 0;
}

void Service::gather(Instant now, std::function<void(Reports)> done) {
  const Checked checked(this);
  next_gathering_.push_back(std::move(done));
  if (gathering_) return;
  begin_gathering(now);
  tick(now);
}

void Service::begin_gathering(Instant now) {
  Gathering& g = gathering_.emplace();
  g.token = next_token_++;
  g.until = now + kReportTimeout;
  g.done.swap(next_gathering_);
  for (auto& [id, entry] : clients_) {
    if (entry.device == nullptr) continue;
    g.missing.push_back(id);
    entry.reports_until = now + kReportUnderWay;
    entry.client->send({{"want", g.token}});
  }
}

void Service::take_report(ClientId from, const Json& report, Instant now) {
  const uint64_t token = report.at("token").get<ctl::Whole<uint64_t>>();
  const Entry& entry = clients_.at(from);
  const bool is_last = token == ctl::kLastFigures;
  if (!is_last && entry.reports_until <= now) return;
  auto data = parse_report(report.at("data"));
  if (data && entry.device != nullptr) {
    data->device = entry.device->name();
    if (is_last) return latencies_.last(from, data->device, data->peers);
    latencies_.report(from, data->device, data->peers);  // also one that is too late for those that requested it
  }
  if (is_last || !gathering_ || token != gathering_->token) return;
  Gathering& g = *gathering_;
  const auto waits = std::find(g.missing.begin(), g.missing.end(), from);
  if (waits == g.missing.end()) return;
  g.missing.erase(waits);
  if (data) {
    // A process may report anything except its own identity.
    data->pid = entry.peer.pid;
    data->uid = entry.peer.uid;
    g.reports.push_back(std::move(*data));
  }
  tick(now);
}

void Service::tick(Instant now) {
  const Checked checked(this);
  while (gathering_ && (gathering_->missing.empty() || gathering_->until <= now)) {
    const Gathering ready = std::move(*gathering_);
    gathering_.reset();
    if (!next_gathering_.empty()) begin_gathering(now);
    for (const auto& done : ready.done) done(ready.reports);
  }
}

size_t Service::processes() const {
  return static_cast<size_t>(std::count_if(clients_.begin(), clients_.end(),
                                           [](const auto& entry) { return entry.second.device != nullptr; }));
}

Json Service::show() const {
  Json all = Json::array();
  for (const std::string& name : order_) {
    const SharedDevice& device = *devices_.at(name);
    Json j = device.whole_state();
    j["device"] = name;
    j["planes"] = device.planes();
    j["ev_mode"] = device.ev_mode();
    j["evs"] = device.evs();
    j["processes"] = Json::array();
    for (const auto& [id, entry] : clients_)
      if (entry.device == &device)
        j["processes"].push_back({{"pid", entry.peer.pid}, {"user", entry.peer.user}, {"program", entry.program}});
    all.push_back(std::move(j));
  }
  return all;
}

Json Service::file_state() const {
  std::map<std::string, ctl::DeviceState> state = kept_;
  for (const auto& [name, device] : devices_)
    if (made_.count(name) == 0 || !device->unconfigured()) state.try_emplace(name, device->state_for_file());
  return {{"version", kFileVersion}, {"devices", state}};
}

bool Service::restore(const Json& state) {
  try {
    if (state.value("version", ctl::Whole<int>(kFileVersion)) != kFileVersion) return false;
    for (const auto& [key, value] : state.items())  // a misspelt key would drop all that is denied
      if (key != "version" && key != "devices") return false;
    kept_ = state.value("devices", std::map<std::string, ctl::DeviceState>());
  } catch (const Json::exception&) {
    return false;
  }
  for (auto& [name, device] : devices_) restore_kept(device.get());
  return true;
}

void Service::check() const {
  if constexpr (!kCheckInvariants) return;
  if (!pace_.due(devices_.size() * (1 + clients_.size()))) return;
  MRC_INVARIANT(order_.size() == devices_.size() && made_.size() <= kMaxMadeDevices);
  for (const std::string& name : order_) MRC_INVARIANT(devices_.contains(name));
  for (const std::string& name : made_) MRC_INVARIANT(devices_.contains(name));
  for (const auto& [id, entry] : clients_) {
    MRC_INVARIANT(id < next_client_);
    if (entry.device == nullptr) continue;
    const auto is = [on = entry.device](const auto& device) { return device.second.get() == on; };
    MRC_INVARIANT(std::any_of(devices_.begin(), devices_.end(), is));
  }
  MRC_INVARIANT(next_gathering_.empty() || gathering_);
  if (!gathering_) return;
  MRC_INVARIANT(gathering_->token < next_token_);
  for (const ClientId id : gathering_->missing) {
    const auto client = clients_.find(id);
    MRC_INVARIANT(client != clients_.end() && client->second.device != nullptr);
  }
}

}  // namespace mrc::mrcd
