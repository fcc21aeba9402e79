#include "requests.h"

#include <cerrno>
#include <cstdint>

namespace mrc::mrcd {

namespace {

constexpr const char* kNoPrivilege =
    "this needs CAP_NET_ADMIN, or membership of the group that the setting ctl_group names";

bool changes_something(const std::string& what) {
  return what == "modify" || what == "port" || what == "deny" || what == "allow";
}

}  // namespace

void Requests::answer(ClientId id, const Json& message, Instant now) {
  Json answer = {{"answer", message["request"]}, {"error", 0}};
  const auto what = message.at("do").get<std::string>();
  if (what == "reports") return answer_reports(id, answer, now);
  Clients::Entry& entry = *parts_.clients->find(id);
  if (what == "follow") {
    entry.follows = true;
    entry.client->send(answer);
    return;
  }
  Result<Json> done = Error{EPERM, kNoPrivilege};
  if (!changes_something(what) || entry.peer.privileged) done = run(what, entry, message);
  answer["error"] = done ? 0 : done.error().code;
  if (!done && !done.error().text.empty()) answer["why"] = done.error().text;
  if (done && !done->is_null()) answer["data"] = *std::move(done);
  if (Clients::Entry* requester = parts_.clients->find(id)) requester->client->send(answer);
}

void Requests::answer_reports(ClientId id, const Json& answer, Instant now) {
  parts_.reports->gather(
      now, [clients = parts_.clients, id, with = answer](const ReportGathering::Reports& reports) mutable {
        const Clients::Entry* const requester = clients->find(id);
        if (requester == nullptr) return;
        // Unprivileged clients see only their own user's processes.
        with["data"] = Json::array();
        for (const ctl::DeviceReport& report : reports)
          if (requester->peer.privileged || report.uid == int64_t{requester->peer.uid}) with["data"].push_back(report);
        requester->client->send(with);
      });
}

Result<Requests::Json> Requests::run(const std::string& what, const Clients::Entry& entry, const Json& message) {
  if (what == "show") return show();
  if (what == "events") return Json(parts_.events->events());
  if (const auto more = more_.find(what); more != more_.end()) return more->second();
  if (!changes_something(what)) return Error{ENOSYS, "unknown request '" + what + "'"};
  SharedDevice* on = entry.device != nullptr ? entry.device : parts_.devices->find(message.value("device", ""));
  if (on == nullptr)
    return Error{ENODEV, "no device '" + message.value("device", "") + "' is configured here or open in a process"};
  if (Status changed = change(what, on, entry, message); !changed) return std::move(changed).error();
  return Json();
}

Status Requests::change(const std::string& what, SharedDevice* on, const Clients::Entry& entry, const Json& message) {
  DeviceChanges& changes = *parts_.changes;
  const std::string& by = entry.peer.user;
  if (what == "port") return changes.change_port(on, message.get<ctl::PortChange>(), by);
  if (what == "modify") return changes.change_profile(on, message.at("call"), by);
  if (what == "allow" && message.value("all", false)) return changes.allow_all(on, by);
  return changes.change_rule(on, what == "deny", message.at("rule"), by);
}

Requests::Json Requests::show() const {
  Json all = Json::array();
  for (const std::string& name : parts_.devices->names()) {
    const SharedDevice& device = *parts_.devices->by_name().at(name);
    Json j = device.whole_state();
    j["device"] = name;
    j["planes"] = device.planes();
    j["ev_mode"] = device.ev_mode();
    j["evs"] = device.evs();
    j["processes"] = parts_.clients->processes_on(&device);
    all.push_back(std::move(j));
  }
  return all;
}

}  // namespace mrc::mrcd
