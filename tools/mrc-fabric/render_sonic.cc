#include "render_sonic.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace mrc::fabric {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDataQueue = 3, kTrimmedQueue = 6, kControlQueue = 7;
constexpr int kLanesPerPort = 8;
constexpr const char* kMap = "MRC";

// SONiC's database holds text only.
template <class T>
std::string text(T value) {
  return std::to_string(value);
}

std::string queue_key(const std::string& port, int queue) {
  return port + "|" + text(queue);
}

std::map<std::string, std::string> port_names(const NodeConfig& node) {
  std::map<std::string, std::string> names;
  for (size_t k = 0; k < node.interfaces.size(); ++k)
    names[node.interfaces[k].name] = "Ethernet" + text(k * kLanesPerPort);
  return names;
}

Json ports(const Topology& topology, const NodeConfig& node, const std::map<std::string, std::string>& names) {
  Json table = Json::object();
  for (const InterfaceConfig& i : node.interfaces) {
    const Link& link = topology.link(node.name + ":" + i.name);
    table[names.at(i.name)] = {{"alias", i.name},
                               {"description", i.peer},
                               {"speed", text(std::llround(link.rate / 1e6))},
                               {"mtu", text(i.mtu)},
                               {"admin_status", "up"}};
  }
  return table;
}

Json static_routes(const NodeConfig& node, const std::map<std::string, std::string>& names) {
  Json table = Json::object();
  for (const RouteConfig& r : node.routes) {
    if (r.kind == RouteKind::kBlackhole) table["default|" + r.prefix] = {{"blackhole", "true"}, {"distance", "254"}};
    if (r.kind != RouteKind::kVia) continue;
    std::string next, interfaces;
    for (const NextHop& h : r.hops) {
      next += (next.empty() ? "" : ",") + h.via;
      interfaces += (interfaces.empty() ? "" : ",") + names.at(h.interface);
    }
    table["default|" + r.prefix] = {{"nexthop", next}, {"ifname", interfaces}};
  }
  return table;
}

// Which queue a DSCP goes to, what happens in the queue, and how queues share the link.
void add_queues(const FabricSpec& f, const NodeConfig& node, const std::map<std::string, std::string>& names,
                Json* db) {
  const DscpPlan dscp;
  const double bdp = f.plane_bdp();
  Json& tc = (*db)["DSCP_TO_TC_MAP"][kMap];
  for (const int d : {dscp.no_trim, dscp.trimmable, dscp.trimmable_retx}) tc[text(d)] = text(kDataQueue);
  for (const int d : {dscp.trimmed, dscp.trimmed_last_hop}) tc[text(d)] = text(kTrimmedQueue);
  tc[text(dscp.control)] = text(kControlQueue);
  for (const int q : {kDataQueue, kTrimmedQueue, kControlQueue}) (*db)["TC_TO_QUEUE_MAP"][kMap][text(q)] = text(q);
  const int share = static_cast<int>(std::lround(f.sw.trimmed_share * 100));
  (*db)["SCHEDULER"] = {{"MRC_DATA", {{"type", "DWRR"}, {"weight", text(std::max(1, 100 - share))}}},
                        {"MRC_TRIMMED", {{"type", "DWRR"}, {"weight", text(share)}}},
                        {"MRC_CONTROL", {{"type", "STRICT"}}}};
  const auto wred = [&](const char* name) {
    (*db)["WRED_PROFILE"][name] = {{"ecn", "ecn_all"},
                                   {"wred_green_enable", "true"},
                                   {"green_min_threshold", text(f.sw.ecn_min.bytes(bdp))},
                                   {"green_max_threshold", text(f.sw.ecn_max.bytes(bdp))},
                                   {"green_drop_probability", "100"}};
  };
  wred("MRC_ECN");
  const auto profile = [&](const char* name, int64_t bytes) {
    Json& p =
        (*db)["BUFFER_PROFILE"][name] = {{"pool", "egress_lossy_pool"}, {"size", "0"}, {"static_th", text(bytes)}};
    if (f.sw.trimming) p["packet_discard_action"] = "trim";
  };
  profile("MRC_FABRIC", (f.sw.trimming ? f.sw.queue : f.sw.drop_queue).bytes(bdp));
  profile("MRC_LAST_HOP", (f.sw.trimming ? f.sw.queue_last_hop : f.sw.drop_queue).bytes(bdp));
  if (f.sw.trimming)
    (*db)["SWITCH_TRIMMING"]["GLOBAL"] = {
        {"size", text(f.sw.trim_bytes)}, {"dscp_value", text(dscp.trimmed)}, {"queue_index", text(kTrimmedQueue)}};
  for (const InterfaceConfig& i : node.interfaces) {
    const std::string& port = names.at(i.name);
    const bool last_hop = node.id.role == Role::kT0 && i.name[0] == 'h';
    (*db)["PORT_QOS_MAP"][port] = {{"dscp_to_tc_map", kMap}, {"tc_to_queue_map", kMap}};
    Json& data = (*db)["QUEUE"][queue_key(port, kDataQueue)] = {{"scheduler", "MRC_DATA"}};
    if (!last_hop || f.sw.ecn_last_hop) data["wred_profile"] = "MRC_ECN";
    (*db)["QUEUE"][queue_key(port, kTrimmedQueue)] = {{"scheduler", "MRC_TRIMMED"}};
    (*db)["QUEUE"][queue_key(port, kControlQueue)] = {{"scheduler", "MRC_CONTROL"}};
    (*db)["BUFFER_QUEUE"][queue_key(port, kDataQueue)] = {{"profile", last_hop ? "MRC_LAST_HOP" : "MRC_FABRIC"}};
  }
}

}  // namespace

std::string render_sonic(const Topology& topology, const NodeConfig& node) {
  const FabricSpec& f = topology.spec();
  const std::map<std::string, std::string> names = port_names(node);
  const std::string own = usid_address(f, node.usid);
  Json db = {
      {"DEVICE_METADATA",
       {{"localhost", {{"hostname", node.name}, {"type", node.id.role == Role::kT0 ? "LeafRouter" : "SpineRouter"}}}}}};
  db["PORT"] = ports(topology, node, names);
  Json& interfaces = db["INTERFACE"] = Json::object();
  for (const InterfaceConfig& i : node.interfaces) {
    interfaces[names.at(i.name)] = {{"ipv6_use_link_local_only", "enable"}};
    for (const AddressConfig& a : i.addresses) interfaces[names.at(i.name) + "|" + a.text] = Json::object();
  }
  db["SRV6_MY_LOCATORS"][kMap] = {
      {"prefix", own}, {"block_len", "32"}, {"node_len", "16"}, {"func_len", "0"}, {"arg_len", "0"}};
  db["SRV6_MY_SIDS"][std::string(kMap) + "|" + usid_prefix(f, node.usid)] = {{"action", "uN"}};
  db["STATIC_ROUTE"] = static_routes(node, names);
  add_queues(f, node, names, &db);
  return db.dump(2) + "\n";
}

}  // namespace mrc::fabric
