#include "live.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "append_item.h"
#include "ctl/deny.h"
#include "ctl/profile_store.h"
#include "daemon.h"
#include "device.h"
#include "device/profiles.h"
#include "json_text.h"
#include "nscc_keys.h"
#include "report_check.h"
#include "shared_device.h"
#include "wire/text.h"

namespace mrcctl {

namespace {

using Json = nlohmann::json;
using mrc::tools::text_of;

Json devices_of(const LiveOptions& options) {
  Json all = Json::array();
  for (Json& device : Daemon(options.socket).ask({{"do", "show"}}))
    if (options.device.empty() || device["device"] == options.device) all.push_back(std::move(device));
  return all;
}

Json reports_of(const LiveOptions& options) {
  Daemon daemon(options.socket);
  return mrcctl::reports_of(&daemon, options);
}

int print_json(const Json& j) {
  std::cout << j.dump(2) << "\n";
  return kGood;
}

std::string head_of(const Json& report) {
  return text_of(report["device"]) + "  process " + text_of(report["pid"]) + " (" + text_of(report["program"]) + ")";
}

const char* state_name(int state) {
  constexpr const char* kNames[] = {"INIT", "OFFLINE", "ONLINE"};
  return state >= 0 && state <= 2 ? kNames[state] : "?";
}

const char* ev_state_name(int state) {
  switch (state) {
    case MRC_CTL_EV_GOOD:
      return "GOOD";
    case MRC_CTL_EV_ASSUMED_BAD:
      return "ASSUMED_BAD";
    case MRC_CTL_EV_DENIED:
      return "DENIED";
    default:
      return "UNKNOWN";
  }
}

const char* mode_name(int mode) {
  return mode == MRC_CTL_EV_MODE_AUTO ? "auto" : mode == MRC_CTL_EV_MODE_EXP ? "explicit" : "generated";
}

// As a profile file has it; zero means derived. Null without a configuration.
Json nscc_json(const mrc::ctl::ProfileStore& store, uint64_t id) {
  mrc_ctl_cc_profile_attr attr{};
  if (store.query_cc(id, &attr, MRC_CTL_CC_PROFILE_CONFIG) != 0 || attr.cc_config == nullptr) return Json();
  mrc_ctl_cc_nscc_cfg config;
  std::memcpy(&config, attr.cc_config, sizeof config);
  Json j = {{"disable_qa", config.disable_qa != 0}, {"qa_gate", config.qa_gate}};
  for (const NsccNumber& key : kNsccNumbers) j[key.name] = config.*key.member;
  for (const NsccGain& key : kNsccGains) {
    char text[32];  // 0.1 and not what a float makes of it
    std::snprintf(text, sizeof text, "%.6g", static_cast<double>(config.*key.member));
    j[key.name] = std::strtod(text, nullptr);
  }
  return j;
}

std::string nscc_text(const Json& config) {
  if (config.is_null()) return "";
  std::string text;
  for (const auto& [key, value] : config.items())
    if (value != 0 && value != false) text += (text.empty() ? ": " : ", ") + key + " " + value.dump();
  return text + (text.empty() ? ": everything derived" : ", the rest derived");
}

// The daemon sends its profiles as the calls that create them; created here, they can be queried.
Json profiles_of(const Json& text) {
  mrc::mrcd::SharedDevice device(text["device"].get<std::string>(), text["planes"].get<uint32_t>(),
                                 text["ev_mode"].get<std::string>(), text["evs"].get<uint32_t>());
  (void)device.restore(text.get<mrc::ctl::DeviceState>());  // what does not fit is not shown
  const mrc::ctl::ProfileStore& store = device.store();
  Json all = {{"device", device.name()}, {"formats", Json::array()}, {"evs", Json::array()}, {"ccs", Json::array()}};
  for (uint64_t id : store.format_ids()) {
    const mrc::ctl::FormatProfile& p = *store.format(id);
    Json fields = Json::array();
    for (const mrc_ctl_ev_fmt_field& field : p.fields()) fields.push_back(field.width);
    all["formats"].push_back(
        {{"id", id}, {"state", state_name(p.state())}, {"mode", format_name(p.mode())}, {"fields", fields}});
  }
  for (uint64_t id : store.ev_ids()) {
    const mrc::ctl::EvProfile& p = *store.ev(id);
    Json entries = Json::array();
    for (const mrc::ctl::EvTable::Entry& entry : p.table().entries())
      entries.push_back({{"ev", mrc::ctl::ev_hex(entry.ev.val) + "@" + std::to_string(entry.ev.port)},
                         {"state", ev_state_name(entry.state)}});
    all["evs"].push_back({{"id", id},
                          {"state", state_name(p.state())},
                          {"mode", mode_name(p.mode())},
                          {"format", p.format_id()},
                          {"min_active", p.min_active()},
                          {"entries", entries}});
  }
  for (uint64_t id : store.cc_ids()) {
    const mrc::ctl::CcProfile& p = *store.cc(id);
    all["ccs"].push_back({{"id", id},
                          {"state", state_name(p.state())},
                          {"algorithm", p.name() != nullptr ? p.name() : "none"},
                          {"config", nscc_json(store, id)}});
  }
  return all;
}

bool troubled(const Json& ev) {
  return ev["state"] != "GOOD" || ev["losses"] != 0 || ev["ecn_marks"] != 0;
}

}  // namespace

Json reports_of(Daemon* daemon, const LiveOptions& options) {
  Json all = Json::array();
  for (Json& report : daemon->ask({{"do", "reports"}}))
    if (mrc::mrcd::is_report(report) && (options.device.empty() || report["device"] == options.device) &&
        (options.pid == 0 || report["pid"] == options.pid))
      all.push_back(std::move(report));
  return all;
}

const char* state_of_port(const Json& port) {
  if (!port.value("out", "").empty()) return "out";
  return port["up"] ? "up" : "down";
}

int show_ports(const LiveOptions& options) {
  Json all = Json::array();
  const Json reports = reports_of(options);
  for (const Json& device : devices_of(options)) {
    Json ports = Json::array();
    for (uint32_t port = 1; port <= device["planes"].get<uint32_t>(); ++port) {
      bool enabled = true;
      for (const Json& down : device["ports_down"]) enabled = enabled && down != port;
      Json entry = {{"port", port}, {"enabled", enabled}, {"processes", Json::array()}};
      for (const Json& report : reports)
        for (const Json& p : report.value("ports", Json::array()))
          if (report["device"] == device["device"] && p["port"] == port) {
            Json of = p;
            of["pid"] = report["pid"];
            of["program"] = report["program"];
            entry["processes"].push_back(std::move(of));
          }
      ports.push_back(std::move(entry));
    }
    all.push_back({{"device", device["device"]}, {"ports", ports}});
  }
  if (options.json) return print_json({{"devices", all}});
  for (const Json& device : all) {
    std::printf("%s\n", text_of(device["device"]).c_str());
    for (const Json& port : device["ports"]) {
      std::printf("  port %s  %s\n", text_of(port["port"]).c_str(), port["enabled"] ? "enabled" : "DISABLED");
      for (const Json& p : port["processes"]) {
        const std::string out = p.value("out", "");
        std::printf("    process %s (%s): %s, sent %s bytes, received %s, lost %s packets, %s ECN marks\n",
                    text_of(p["pid"]).c_str(), text_of(p["program"]).c_str(),
                    (state_of_port(p) + (out.empty() ? "" : ": " + out)).c_str(), text_of(p["tx_bytes"]).c_str(),
                    text_of(p["rx_bytes"]).c_str(), text_of(p["losses"]).c_str(), text_of(p["ecn_marks"]).c_str());
      }
    }
  }
  return kGood;
}

int show_profiles(const LiveOptions& options) {
  Json all = Json::array();
  for (const Json& device : devices_of(options)) all.push_back(profiles_of(device));
  if (options.json) return print_json({{"devices", all}});
  for (const Json& device : all) {
    std::printf("%s\n", text_of(device["device"]).c_str());
    for (const Json& p : device["formats"])
      std::printf("  format %s  %s  %s, fields of %s bits\n", text_of(p["id"]).c_str(), text_of(p["state"]).c_str(),
                  text_of(p["mode"]).c_str(), p["fields"].dump().c_str());
    for (const Json& p : device["evs"]) {
      std::map<std::string, size_t> states;
      std::map<std::string, std::string> named;  // the faulty ones
      for (const Json& entry : p["entries"]) {
        const std::string state = text_of(entry["state"]);
        ++states[state];
        if (state != "GOOD") named[state].append(" ").append(text_of(entry["ev"]));
      }
      std::printf("  EV profile %s  %s  %s, format %s, %zu EVs, at least %s active:", text_of(p["id"]).c_str(),
                  text_of(p["state"]).c_str(), text_of(p["mode"]).c_str(), text_of(p["format"]).c_str(),
                  p["entries"].size(), text_of(p["min_active"]).c_str());
      for (const auto& [state, count] : states) std::printf(" %zu %s", count, state.c_str());
      std::printf("\n");
      for (const auto& [state, evs] : named) std::printf("    %s:%s\n", state.c_str(), evs.c_str());
    }
    for (const Json& p : device["ccs"])
      std::printf("  CC profile %s  %s  %s%s\n", text_of(p["id"]).c_str(), text_of(p["state"]).c_str(),
                  text_of(p["algorithm"]).c_str(), nscc_text(p["config"]).c_str());
  }
  return kGood;
}

int show_denies(const LiveOptions& options) {
  Json all = Json::array();
  for (const Json& device : devices_of(options))
    all.push_back({{"device", device["device"]}, {"denies", device["denies"]}});
  if (options.json) return print_json({{"devices", all}});
  for (const Json& device : all)
    for (const Json& text : device["denies"]) {
      const auto rule = mrc::ctl::parse_deny(text);
      if (!rule) continue;
      std::printf("%s  %s  by %s%s%s\n", text_of(device["device"]).c_str(), mrc::ctl::deny_text(*rule).c_str(),
                  rule->by.c_str(), rule->why.empty() ? "" : ": ", rule->why.c_str());
    }
  return kGood;
}

int show_qps(const LiveOptions& options) {
  const Json reports = reports_of(options);
  if (options.json) return print_json({{"processes", reports}});
  for (const Json& report : reports) {
    std::printf("%s\n", head_of(report).c_str());
    for (const Json& qp : report.value("qps", Json::array()))
      std::printf(
          "  QP 0x%06x -> 0x%06x  %-5s  window %s, in flight %s, round trip %.1f us, sent %s packets, "
          "%s again, %s timeouts\n",
          qp["qpn"].get<unsigned>(), qp["dest_qpn"].get<unsigned>(), text_of(qp["state"]).c_str(),
          text_of(qp["cwnd"]).c_str(), text_of(qp["inflight"]).c_str(), qp["rtt_ns"].get<double>() / 1000,
          text_of(qp["tx_packets"]).c_str(), text_of(qp["retransmits"]).c_str(), text_of(qp["timeouts"]).c_str());
  }
  return kGood;
}

int show_evs(const LiveOptions& options) {
  const Json reports = reports_of(options);
  if (options.json) return print_json({{"processes", reports}});
  for (const Json& report : reports) {
    std::printf("%s\n", head_of(report).c_str());
    for (const Json& peer : report.value("peers", Json::array())) {
      std::string to;
      for (const Json& address : peer["addresses"]) mrc::append_item(&to, text_of(address), " ");
      std::printf("  to %s\n", to.c_str());
      for (const Json& ev : peer["evs"])
        if (!options.troubled || troubled(ev))
          std::printf("    port %s  EV %-14s %-11s %-6s  round trip %8.1f us  sent %s bytes, lost %s, %s ECN marks\n",
                      text_of(ev["port"]).c_str(), mrc::wire::ev_text(ev["ev"].get<uint32_t>()).c_str(),
                      text_of(ev["state"]).c_str(), ev["active"] ? "active" : "backup",
                      ev["rtt_ns"].get<double>() / 1000, text_of(ev["tx_bytes"]).c_str(), text_of(ev["losses"]).c_str(),
                      text_of(ev["ecn_marks"]).c_str());
    }
  }
  return kGood;
}

int show_monitor(const LiveOptions& options) {
  const Json monitor = Daemon(options.socket).ask({{"do", "monitor"}});
  if (options.json) return print_json(monitor);
  if (!monitor.value("running", false)) {
    std::printf("mrcd does not watch the fabric: set probe_rate of mrcd, with ev_mode srv6 and srv6_loop\n");
    return kGood;
  }
  for (const Json& plane : monitor["planes"]) {
    std::printf("plane %s, T0 %s\n", text_of(plane["plane"]).c_str(), text_of(plane["t0"]).c_str());
    for (const Json& path : plane["paths"])
      std::printf("  %-12s %-4s  loss %5.2f %%  round trip %8.1f us  %s probes, %s lost\n",
                  path["t1"] == "" ? "T0 alone" : ("T1 " + text_of(path["t1"])).c_str(), path["bad"] ? "BAD" : "good",
                  path["loss"].get<double>() * 100, path["rtt_us"].get<double>(), text_of(path["sent"]).c_str(),
                  text_of(path["lost"]).c_str());
  }
  for (const Json& finding : monitor["findings"]) std::printf("FAULT  %s\n", text_of(finding["text"]).c_str());
  return monitor["findings"].empty() ? kGood : kDiffers;
}

}  // namespace mrcctl
