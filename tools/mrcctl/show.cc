#include "show.h"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "append_item.h"
#include "device.h"

namespace mrcctl {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kGids = 4;  // every table has at least this many entries

OrderedJson names_of(uint32_t mask, std::initializer_list<std::pair<uint32_t, const char*>> names) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [bit, name] : names)
    if ((mask & bit) != 0) list.push_back(name);
  return list;
}

OrderedJson describe(const std::string& name) {
  const Device device(name);
  const mrc_ctl_device_attr attr = device.attributes();
  OrderedJson j{{"name", name}};
  for (uint8_t port : device.ports()) {
    ibv_port_attr state{};
    mrc_soft_query_port(device.verbs(), port, &state);
    j["ports"].push_back({{"port", port}, {"up", state.state == IBV_PORT_ACTIVE}});
  }
  for (int i = 0; i < kGids; ++i) j["gids"].push_back(gid_text(device.gid(i)));
  j["ev"] = {{"formats", names_of(attr.ev.ev_fmt_mode_mask, {{MRC_CTL_EV_FMT_MODE_UDP, "UDP"},
                                                             {MRC_CTL_EV_FMT_MODE_STEV, "STEV"},
                                                             {MRC_CTL_EV_FMT_MODE_SRV6, "SRv6"}})},
             {"modes", names_of(attr.ev.ev_mode_mask, {{MRC_CTL_EV_MODE_AUTO, "AUTO"},
                                                       {MRC_CTL_EV_MODE_EXP, "EXPLICIT"},
                                                       {MRC_CTL_EV_MODE_GEN, "GENERATED"}})},
             {"max_width", attr.ev.ev_max_width},
             {"max_format_profiles", attr.ev.ev_max_fmt_profiles},
             {"max_profiles", attr.ev.ev_max_profiles},
             {"max_count", attr.ev.ev_max_count},
             {"max_count_per_profile", attr.ev.ev_max_count_profile}};
  j["cc"] = {{"max_profiles", attr.cc.cc_max_profiles}, {"algorithms", OrderedJson::array()}};
  for (const char** algorithm = attr.cc.algorithms; *algorithm != nullptr; ++algorithm)
    j["cc"]["algorithms"].push_back(*algorithm);
  j["options"] = names_of(attr.opt_attr, {{MRC_CTL_OPT_CAP_EV_PROFILE_MODIFY_ONLINE, "EV profiles change online"},
                                          {MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE, "CC profiles change online"},
                                          {MRC_CTL_OPT_CAP_EV_EVENT, "EV events"},
                                          {MRC_CTL_OPT_CAP_EV_EXPLICIT_RANGE, "explicit EVs as one range"},
                                          {MRC_CTL_OPT_CAP_EV_EVENT_PRECISE_DROP_CNT, "exact drop counts"},
                                          {MRC_CTL_OPT_CAP_EP_OP_EV_PROBE, "EV probes"}});
  return j;
}

std::string words(const OrderedJson& list) {
  std::string text;
  for (const OrderedJson& word : list) mrc::append_item(&text, word.get<std::string>());
  return text.empty() ? "none" : text;
}

void print(const OrderedJson& d) {
  std::printf("%s\n  ports     ", d["name"].get<std::string>().c_str());
  for (const OrderedJson& port : d["ports"]) std::printf(" %d %s", port["port"].get<int>(), port["up"] ? "up" : "down");
  std::printf("\n  GIDs      ");
  for (const OrderedJson& gid : d["gids"]) std::printf(" %s", gid == "" ? "-" : gid.get<std::string>().c_str());
  const OrderedJson& ev = d["ev"];
  std::printf("\n  EVs        formats %s of up to %u bits; profiles %s\n", words(ev["formats"]).c_str(),
              ev["max_width"].get<unsigned>(), words(ev["modes"]).c_str());
  std::printf("  room for   %u formats, %u EV profiles of up to %u EVs, %u in all; %u CC profiles (%s)\n",
              ev["max_format_profiles"].get<unsigned>(), ev["max_profiles"].get<unsigned>(),
              ev["max_count_per_profile"].get<unsigned>(), ev["max_count"].get<unsigned>(),
              d["cc"]["max_profiles"].get<unsigned>(), words(d["cc"]["algorithms"]).c_str());
  std::printf("  options    %s\n", words(d["options"]).c_str());
}

}  // namespace

int show(bool json) {
  OrderedJson devices = OrderedJson::array();
  for (const std::string& name : device_names()) devices.push_back(describe(name));
  if (json) {
    std::cout << OrderedJson{{"devices", devices}}.dump(2) << "\n";
  } else {
    for (const OrderedJson& device : devices) print(device);
  }
  return 0;
}

}  // namespace mrcctl
