#include "devices.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "append_item.h"
#include "config_refusal.h"
#include "json_text.h"
#include "mrc.h"
#include "mrc_soft.h"

namespace mrc::info {

using tools::text_of;

namespace {

Json describe(ibv_context* context) {
  const int size = mrc_soft_describe_device(context, nullptr, 0);
  if (size < 0) throw std::runtime_error(std::string("cannot describe the device: ") + std::strerror(errno));
  std::string text(static_cast<size_t>(size) + 1, 0);
  mrc_soft_describe_device(context, text.data(), text.size());
  text.resize(static_cast<size_t>(size));
  Json j = Json::parse(text);

  ibv_device_attr attr{};
  if (mrc_soft_query_device(context, &attr) == 0) {
    Json& limits = j["limits"];
    limits["max_qp_wr"] = attr.max_qp_wr;
    limits["max_sge"] = attr.max_sge;
    limits["max_cq"] = attr.max_cq;
    limits["max_cqe"] = attr.max_cqe;
    limits["max_mr"] = attr.max_mr;
    limits["max_pd"] = attr.max_pd;
  }
  mrc_device_attr mrc{};
  int supported = 0;
  if (mrc_query_device(context, &mrc, &supported) == 0 && supported != 0) {
    j["limits"]["max_mpr"] = mrc.mpr_attr.max_mpr;
    j["limits"]["max_wimm_requester"] = mrc.wimm_attr.max_wimm;
    j["limits"]["max_wimm_responder"] = mrc.wimm_attr.max_wimm_dest;
  }
  return j;
}

// Of the configuration: all, or the requested one.
std::vector<std::string> names_of_devices(const std::string& only) {
  int count = 0;
  ibv_device** list = mrc_soft_get_device_list(&count);
  if (list == nullptr) {
    const std::string refusal = tools::config_refusal();
    throw std::runtime_error(!refusal.empty() ? refusal : std::string("no devices: ") + std::strerror(errno));
  }
  std::vector<std::string> names;
  std::string all;
  for (int i = 0; i < count; ++i) {
    const char* const name = mrc_soft_get_device_name(list[i]);
    if (only.empty() || only == name) names.emplace_back(name);
    append_item(&all, name);
  }
  mrc_soft_free_device_list(list);
  if (names.empty()) throw std::runtime_error("no device has the name '" + only + "'; there is " + all);
  return names;
}

void print_device(const Json& d, bool with_evs) {
  std::printf("%s\n", text_of(d["name"]).c_str());
  std::printf("  process slot %s, path MTU %s, %s of %zu EVs active (%s)\n", text_of(d["process_slot"]).c_str(),
              text_of(d["mtu"]).c_str(), text_of(d["ev_active"]).c_str(), d["evs"].size(),
              text_of(d["ev_mode"]).c_str());
  const double gbps = d["line_rate_gbps"].get<double>();
  if (gbps == 0)
    std::printf("  line rate measured while it runs\n");
  else
    std::printf("  line rate %g Gb/s%s\n", gbps,
                d["settings"]["line_rate_gbps"] == "0" ? ", of the network cards" : "");
  std::printf("  planes\n");
  for (const Json& p : d["planes"])
    std::printf("    %2s  %-24s port %-5s %-10s %s\n", text_of(p["plane"]).c_str(), text_of(p["address"]).c_str(),
                text_of(p["port"]).c_str(), text_of(p["interface"]).c_str(),
                p.value("out", "") != "" ? "out"
                : p["up"].get<bool>()    ? "up"
                                         : "down");
  std::printf("  GIDs\n");
  for (size_t i = 0; i < d["gids"].size(); ++i)
    std::printf("    %2zu  %s\n", i, d["gids"][i] == "" ? "-" : text_of(d["gids"][i]).c_str());
  const std::string tmpl = text_of(d["peer_template"]);
  std::printf("  peers: %s, %s listed\n",
              tmpl.empty() ? "processes with a GID of this device" : ("by template " + tmpl).c_str(),
              text_of(d["listed_peers"]).c_str());
  std::printf("  limits:");
  for (const auto& [name, value] : d["limits"].items()) std::printf(" %s %s", name.c_str(), text_of(value).c_str());
  std::printf("\n");
  for (const Json& line : d["driver"]) std::printf("  %s\n", text_of(line).c_str());
  for (const Json& line : d["advice"]) std::printf("  to raise: %s\n", text_of(line).c_str());
  if (with_evs)
    for (size_t i = 0; i < d["evs"].size(); ++i)
      std::printf("  EV %3zu  plane %s  value %s%s\n", i, text_of(d["evs"][i]["plane"]).c_str(),
                  text_of(d["evs"][i]["value"]).c_str(), i < d["ev_active"].get<size_t>() ? "" : "  (backup)");
}

}  // namespace

void check_name(const std::string& only) {
  names_of_devices(only);
}

Json describe_devices(const std::string& only) {
  Json all = Json::array();
  for (const std::string& name : names_of_devices(only)) {
    ibv_context* context = mrc_soft_open_device_by_name(name.c_str());
    if (context == nullptr)
      throw std::runtime_error("cannot open device " + name + ": " + std::strerror(errno) +
                               "; the log has the reason, except with MRC_LOG=off");
    all.push_back(describe(context));
    mrc_soft_close_device(context);
  }
  return all;
}

void print_devices(const Json& devices, bool with_evs) {
  for (const Json& d : devices) print_device(d, with_evs);
}

void print_suggestion(const Json& devices) {
  std::printf(
      "# For /etc/mrc/mrc.yaml of this host. Plane k of all hosts must be in one network; hosts are found over plane 1.\n"
      "devices:\n");
  for (const Json& d : devices) {
    std::printf("  - name: %s\n    planes:\n", text_of(d["name"]).c_str());
    for (const Json& p : d["planes"])
      std::printf("      - {interface: \"%s\", address: \"%s\"}\n", text_of(p["interface"]).c_str(),
                  text_of(p["address"]).c_str());
    std::printf("    peers: {learn: true}\n");
  }
}

}  // namespace mrc::info
