#include "profile_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "append_item.h"
#include "core/congestion/registry.h"
#include "ctl/limits.h"
#include "device.h"
#include "nscc_keys.h"
#include "text_file.h"

namespace mrcctl {

namespace {

using mrc::ctl::ProfileCall;
using mrc::ctl::ProfileKind;

[[noreturn]] void fail(const YAML::Node& at, const std::string& why) {
  throw Error("line " + std::to_string(at.Mark().line + 1) + ": " + why);
}

// Every key must be one of these.
void check_keys(const YAML::Node& map, std::initializer_list<const char*> known) {
  for (const auto& entry : map) {
    const std::string key = entry.first.as<std::string>();
    bool found = false;
    std::string names;
    for (const char* name : known) {
      found = found || key == name;
      mrc::append_item(&names, name);
    }
    if (!found) fail(entry.first, "'" + key + "' is not known here; what is: " + names);
  }
}

template <typename T>
T number(const YAML::Node& node) {
  const std::string text = node.as<std::string>();
  const bool hex = text.rfind("0x", 0) == 0;
  T value{};
  const char* begin = text.data() + (hex ? 2 : 0);
  const auto parsed = std::from_chars(begin, text.data() + text.size(), value, hex ? 16 : 10);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    fail(node, "'" + text + "' is no number that fits here");
  return value;
}

template <typename T>
T word(const YAML::Node& node, const std::map<std::string, T>& words) {
  const auto found = words.find(node.as<std::string>());
  if (found != words.end()) return found->second;
  std::string names;
  for (const auto& [name, value] : words) mrc::append_item(&names, name);
  fail(node, "'" + node.as<std::string>() + "' is none of: " + names);
}

const std::map<std::string, mrc_ctl_ev_state> kStates = {
    {"GOOD", MRC_CTL_EV_GOOD}, {"ASSUMED_BAD", MRC_CTL_EV_ASSUMED_BAD}, {"DENIED", MRC_CTL_EV_DENIED}};

void read_format(const YAML::Node& node, ProfileCall* c) {
  check_keys(node, {"kind", "id", "state", "mode", "fields"});
  if (node["mode"]) {
    c->mask |= MRC_CTL_EV_FMT_PROFILE_MODE;
    c->format.ev_fmt_mode = word<mrc_ctl_ev_fmt_mode>(
        node["mode"],
        {{"UDP", MRC_CTL_EV_FMT_MODE_UDP}, {"STEV", MRC_CTL_EV_FMT_MODE_STEV}, {"SRv6", MRC_CTL_EV_FMT_MODE_SRV6}});
  }
  if (node["fields"]) {
    c->mask |= MRC_CTL_EV_FMT_PROFILE_OP;
    for (const YAML::Node& width : node["fields"]) c->format_fields.push_back({number<uint8_t>(width)});
    c->format.ev_fmt_op = {MRC_CTL_EV_FMT_OP_MODIFY_FIELDS, c->format_fields.data(),
                           static_cast<int>(c->format_fields.size())};
  }
}

void read_entries(const YAML::Node& list, ProfileCall* c) {
  for (const YAML::Node& node : list) {
    mrc_ctl_ev_op_entry entry{};
    entry.state = MRC_CTL_EV_GOOD;
    if (node.IsMap()) check_keys(node, {"ev", "state"});
    const YAML::Node ev = node.IsMap() ? node["ev"] : node;
    if (!ev) fail(node, "an entry has an ev");
    entry.ev_new = parse_profile_ev(ev.as<std::string>());
    if (node.IsMap() && node["state"]) entry.state = word(node["state"], kStates);
    c->entries.push_back(entry);
  }
  c->mask |= MRC_CTL_EV_PROFILE_EV_OP;
  c->ev.ev_op = {MRC_CTL_EV_OP_REPLACE_EV, c->entries.data(), static_cast<int>(c->entries.size())};
}

void read_ev(const YAML::Node& node, ProfileCall* c) {
  check_keys(node, {"kind", "id", "state", "mode", "format", "count", "min_active", "events", "fields", "evs"});
  if (node["mode"]) {
    c->mask |= MRC_CTL_EV_PROFILE_MODE;
    c->ev.ev_mode = word<mrc_ctl_ev_mode>(
        node["mode"],
        {{"auto", MRC_CTL_EV_MODE_AUTO}, {"explicit", MRC_CTL_EV_MODE_EXP}, {"generated", MRC_CTL_EV_MODE_GEN}});
  }
  if (node["format"]) {
    c->mask |= MRC_CTL_EV_PROFILE_FMT_ID;
    c->ev.ev_fmt_profile_id = number<uint64_t>(node["format"]);
  }
  if (node["min_active"]) {
    c->mask |= MRC_CTL_EV_PROFILE_MIN_ACTIVE;
    c->ev.ev_min_active = number<uint32_t>(node["min_active"]);
  }
  if (node["events"]) {
    c->mask |= MRC_CTL_EV_PROFILE_EVENT_MASK;
    for (const YAML::Node& state : node["events"]) c->ev.ev_event_mask |= word(state, kStates);
  }
  if (node["fields"]) {
    c->mask |= MRC_CTL_EV_PROFILE_EV_FIELDS_OP;
    for (const YAML::Node& f : node["fields"]) {
      check_keys(f, {"width", "init", "min", "max", "mask"});
      mrc_ctl_ev_field field{};
      if (!f["width"]) fail(f, "a field has a width");
      field.width = number<uint32_t>(f["width"]);
      if (f["init"]) field.init_val = number<uint32_t>(f["init"]);
      if (f["min"]) field.min_val = number<uint32_t>(f["min"]);
      if (f["max"]) field.max_val = number<uint32_t>(f["max"]);
      if (f["mask"]) field.mask = number<uint32_t>(f["mask"]);
      c->ev_fields.push_back(field);
    }
    c->ev.ev_fields_op = {MRC_CTL_EV_FIELDS_OP_MODIFY_FIELDS, c->ev_fields.data(),
                          static_cast<int>(c->ev_fields.size())};
  }
  if (node["evs"]) read_entries(node["evs"], c);
  if (node["count"] || node["evs"]) {
    c->mask |= MRC_CTL_EV_PROFILE_COUNT;
    c->ev.ev_count = node["count"] ? number<uint32_t>(node["count"]) : static_cast<uint32_t>(c->entries.size());
  }
}

void read_config(const YAML::Node& node, ProfileCall* c) {
  mrc_ctl_cc_nscc_cfg config{};
  const auto named = [](const auto& table, const std::string& name) {
    return std::find_if(std::begin(table), std::end(table), [&](const auto& key) { return name == key.name; });
  };
  for (const auto& entry : node) {
    const std::string key = entry.first.as<std::string>();
    if (const auto n = named(kNsccNumbers, key); n != std::end(kNsccNumbers))
      config.*n->member = number<uint32_t>(entry.second);
    else if (const auto g = named(kNsccGains, key); g != std::end(kNsccGains))
      config.*g->member = entry.second.as<float>();
    else if (key == "disable_qa")
      config.disable_qa = entry.second.as<bool>();
    else if (key == "qa_gate")
      config.qa_gate = number<uint8_t>(entry.second);
    else
      fail(entry.first, "'" + key + "' is no part of NSCC's configuration (mrc_ctl.h has them)");
  }
  c->config.push_back(config);
  c->mask |= MRC_CTL_CC_PROFILE_CONFIG;
  c->cc.cc_config = c->config.data();
}

void read_cc(const YAML::Node& node, ProfileCall* c) {
  check_keys(node, {"kind", "id", "state", "algorithm", "config"});
  if (node["algorithm"]) {
    c->mask |= MRC_CTL_CC_PROFILE_ALGORITHM;
    c->algorithm = node["algorithm"].as<std::string>();
    if (c->algorithm != "none" && mrc::core::find_profile_algorithm(c->algorithm.c_str()) == nullptr) {
      std::string known = "none";
      for (const mrc::core::CongestionAlgorithm* a : mrc::core::congestion_algorithms())
        if (a->profile_name != nullptr) known += std::string(" ") + a->profile_name;
      fail(node["algorithm"], "'" + c->algorithm + "' is no algorithm; allowed: " + known);
    }
  }
  if (!node["config"]) return;
  if (!c->algorithm.empty() && c->algorithm != mrc::ctl::kNsccName)
    fail(node["config"], std::string("only ") + mrc::ctl::kNsccName + " has a configuration");
  read_config(node["config"], c);
}

WrittenProfile read_one(const YAML::Node& node) {
  if (!node.IsMap()) fail(node, "a profile is a map with kind and id");
  if (!node["kind"] || !node["id"]) fail(node, "a profile has a kind (format, ev or cc) and an id");
  WrittenProfile made;
  ProfileCall& c = made.call;
  c.kind = word<ProfileKind>(node["kind"],
                             {{"format", ProfileKind::kFormat}, {"ev", ProfileKind::kEv}, {"cc", ProfileKind::kCc}});
  c.id = number<uint64_t>(node["id"]);
  if (node["state"]) made.online = word<bool>(node["state"], {{"online", true}, {"offline", false}});
  if (c.kind == ProfileKind::kFormat) read_format(node, &c);
  if (c.kind == ProfileKind::kEv) read_ev(node, &c);
  if (c.kind == ProfileKind::kCc) read_cc(node, &c);
  made.name = node["kind"].as<std::string>() + " profile " + std::to_string(c.id);
  return made;
}

}  // namespace

mrc_ctl_ev parse_profile_ev(const std::string& text) {
  const size_t at = text.find('@');
  unsigned port = 0;
  std::optional<mrc_ctl_ev> ev;
  const char* end = text.data() + text.size();
  if (at != std::string::npos && std::from_chars(text.data() + at + 1, end, port).ptr == end && port >= 1 &&
      port <= 255)
    ev = mrc::ctl::parse_ev_hex(text.substr(0, at), static_cast<uint8_t>(port));
  if (!ev) throw Error("'" + text + "' is no EV of a profile: hexadecimal value and port, such as 0001@2");
  return *ev;
}

std::vector<WrittenProfile> read_profiles(const std::string& file) {
  std::vector<WrittenProfile> profiles;
  const mrc::Result<std::string> text = mrc::read_text_file(file);
  if (!text) throw Error("cannot read " + file + ": " + text.error().text);
  try {
    const YAML::Node all = YAML::Load(*text);
    if (!all.IsSequence()) throw Error("the file is a list of profiles; man mrcctl has an example");
    for (const YAML::Node& node : all) profiles.push_back(read_one(node));
  } catch (const YAML::Exception& e) {
    throw Error(file + ": " + e.what());
  } catch (const Error& e) {
    throw Error(file + ": " + e.what());
  }
  return profiles;
}

}  // namespace mrcctl
