#include "control.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "ctl/call.h"
#include "ctl/deny.h"
#include "daemon.h"
#include "device.h"
#include "profile_file.h"

namespace mrcctl {

namespace {

using Json = nlohmann::json;

int report(bool json, const std::string& what) {
  if (json)
    std::cout << Json{{"done", what}}.dump(2) << "\n";
  else
    std::printf("%s\n", what.c_str());
  return kGood;
}

int in_profile(const DenyOptions& options, mrc_ctl_ev_op op, mrc_ctl_ev_op_entry entry, bool json,
               const std::string& what) {
  mrc_ctl_ev_profile_attr attr{};
  entry.flags = MRC_CTL_EV_OP_F_ALL_COPIES;
  attr.ev_op = {op, &entry, 1};
  const auto answer = Daemon(options.socket)
                          .request({{"do", "modify"},
                                    {"device", options.device},
                                    {"call", mrc::ctl::call_json(options.profile, attr, MRC_CTL_EV_PROFILE_EV_OP)}});
  if (answer) return report(json, what);
  mrc::Error error = answer.error();
  if (error.text.empty() && error.code == ENOENT) error.text = "the profile has no such EV (mrcctl show profiles)";
  if (error.text.empty() && error.code == EINVAL)
    error.text = "there is no such profile, or it does not take this in its present state";
  throw Error("EV profile " + std::to_string(options.profile) + ": " + sentence_of(error));
}

std::string clock_text(double time) {
  const auto seconds = static_cast<time_t>(time);
  tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  const size_t n = std::strftime(text, sizeof text, "%F %T", &parts);
  std::snprintf(text + n, sizeof text - n, ".%03d", static_cast<int>((time - static_cast<double>(seconds)) * 1000));
  return text;
}

void print_event(const Json& event, bool json) {
  if (json)
    std::cout << event.dump() << std::endl;
  else
    std::printf("%s  %-8s %s\n", clock_text(event.value("time", 0.0)).c_str(), event.value("what", "").c_str(),
                event.value("text", "").c_str());
  std::fflush(stdout);
}

}  // namespace

int ev_deny(const DenyOptions& o, bool deny, bool json) {
  const char* done = deny ? "denied" : "allowed";
  if (o.in_profile) {
    mrc_ctl_ev_op_entry entry{};
    entry.ev = parse_profile_ev(o.entry);
    entry.state = deny ? MRC_CTL_EV_DENIED : MRC_CTL_EV_GOOD;
    return in_profile(o, MRC_CTL_EV_OP_MODIFY_EV_STATE, entry, json,
                      std::string(done) + ": EV " + o.entry + " of profile " + std::to_string(o.profile));
  }
  Json rule = {{"plane", o.plane}};
  const std::pair<const char*, const std::string*> parts[] = {
      {"ev", &o.ev}, {"via", &o.via}, {"to", &o.to}, {"why", &o.why}};
  for (const auto& [key, value] : parts)
    if (!value->empty()) rule[key] = *value;
  std::string text = "every path";
  if (!o.all || deny) {
    const auto parsed = mrc::ctl::parse_deny(rule);
    if (!parsed) throw Error(parsed.error().text);
    text = mrc::ctl::deny_text(*parsed);
  }
  const auto answer =
      Daemon(o.socket).request({{"do", deny ? "deny" : "allow"}, {"device", o.device}, {"rule", rule}, {"all", o.all}});
  if (!answer && answer.error().code == ENOENT)
    throw Error("not denied: " + text + " (mrcctl show denies lists what is)");
  if (!answer) throw Error(sentence_of(answer.error()));
  return report(json, std::string(done) + ": " + text);
}

int ev_replace(const std::string& socket, const std::string& device, uint64_t profile, const std::string& from,
               const std::string& to, bool json) {
  DenyOptions options;
  options.socket = socket;
  options.device = device;
  options.profile = profile;
  mrc_ctl_ev_op_entry entry{};
  entry.ev = parse_profile_ev(from);
  entry.ev_new = parse_profile_ev(to);
  entry.state = MRC_CTL_EV_GOOD;
  return in_profile(options, MRC_CTL_EV_OP_REPLACE_EV, entry, json,
                    "replaced: EV " + from + " by " + to + " in profile " + std::to_string(profile));
}

int set_port(const std::string& socket, const std::string& device, uint32_t port, bool up, bool json) {
  Daemon(socket).ask({{"do", "port"}, {"device", device}, {"port", port}, {"up", up}});
  return report(json, "port " + std::to_string(port) + (up ? " up" : " down"));
}

int events(const std::string& socket, bool follow, uint64_t max, bool json) {
  Daemon daemon(socket);
  uint64_t printed = 0;
  if (follow) daemon.ask({{"do", "follow"}});
  if (!follow) {
    for (const Json& event : daemon.ask({{"do", "events"}})) print_event(event, json);
    return kGood;
  }
  while (max == 0 || printed < max) {
    const std::optional<Json> message = daemon.next();
    if (!message) break;
    if (!message->is_object() || !message->contains("event")) continue;
    print_event(message->at("event"), json);
    ++printed;
  }
  if (max != 0 && printed < max) throw Error("mrcd has ended");
  return kGood;
}

}  // namespace mrcctl
