#include "render_sonic.h"

#include <cmath>
#include <map>

#include "append_item.h"
#include "sonic_queues.h"

namespace mrc::fabric {
namespace {

constexpr int kLanesPerPort = 8;
constexpr const char* kLocator = "MRC";

std::map<std::string, std::string> port_names(const NodeConfig& node) {
  std::map<std::string, std::string> names;
  for (size_t k = 0; k < node.interfaces.size(); ++k)
    names[node.interfaces[k].name] = "Ethernet" + std::to_string(k * kLanesPerPort);
  return names;
}

void add_ports(const Topology& topology, const NodeConfig& node, const std::map<std::string, std::string>& names,
               SonicDb* db) {
  for (const InterfaceConfig& i : node.interfaces) {
    const std::string& port = names.at(i.name);
    const Link& link = topology.link(node.name + ":" + i.name);
    db->set("PORT", port, "alias", i.name, "the plan's name of the port");
    db->set("PORT", port, "description", i.peer, "the other end");
    db->set("PORT", port, "speed", std::llround(link.rate / 1e6), "Mb/s, of the fabric file");
    db->set("PORT", port, "mtu", i.mtu, "link_mtu of the fabric file");
    db->set("PORT", port, "admin_status", "up", "in use");
  }
}

void add_interfaces(const NodeConfig& node, const std::map<std::string, std::string>& names, SonicDb* db) {
  for (const InterfaceConfig& i : node.interfaces) {
    const std::string& port = names.at(i.name);
    db->set("INTERFACE", port, "ipv6_use_link_local_only", "enable", "next hops are link-local addresses");
    for (const AddressConfig& a : i.addresses)
      db->row("INTERFACE", port + "|" + a.text, "this end of the link; the other end's next hop");
  }
}

// [MRC-SONIC-6]
void add_segment(const FabricSpec& f, const NodeConfig& node, SonicDb* db) {
  const auto set = [&](const char* field, const std::string& value, const char* why) {
    db->set("SRV6_MY_LOCATORS", kLocator, field, value, why);
  };
  set("prefix", usid_address(f, node.usid), "block and the switch's own uSID, without a length");
  set("block_len", "32", "F3216: the block");
  set("node_len", "16", "F3216: one uSID per switch");
  set("func_len", "16", "of the formats that have a function; uN has none");
  set("arg_len", "0", "no arguments");
  const std::string sid = std::string(kLocator) + "|" + usid_prefix(f, node.usid);
  db->set("SRV6_MY_SIDS", sid, "action", "uN", "shift the uSIDs by one and forward to what the result says");
  db->set("SRV6_MY_SIDS", sid, "decap_dscp_mode", "pipe", "SONiC requires a mode; no MRC packet is unwrapped here");
}

void add_routes(const NodeConfig& node, const std::map<std::string, std::string>& names, SonicDb* db) {
  for (const RouteConfig& r : node.routes) {
    const std::string key = "default|" + r.prefix;
    if (r.kind == RouteKind::kBlackhole) {
      db->set("STATIC_ROUTE", key, "blackhole", "true", r.purpose);
      db->set("STATIC_ROUTE", key, "distance", "254", "behind every other route");
    }
    if (r.kind != RouteKind::kVia) continue;
    std::string next, interfaces;
    for (const NextHop& h : r.hops) {
      append_item(&next, h.via, ",");
      append_item(&interfaces, names.at(h.interface), ",");
    }
    db->set("STATIC_ROUTE", key, "nexthop", next, r.purpose);
    db->set("STATIC_ROUTE", key, "ifname", interfaces, "a link-local next hop needs its port");
  }
}

}  // namespace

SonicDb render_sonic(const Topology& topology, const NodeConfig& node) {
  const std::map<std::string, std::string> names = port_names(node);
  SonicDb db;
  db.set("DEVICE_METADATA", "localhost", "hostname", node.name, "the plan's name of the switch");
  db.set("DEVICE_METADATA", "localhost", "type", node.id.role == Role::kT0 ? "LeafRouter" : "SpineRouter",
         node.id.role == Role::kT0 ? "a T0" : "a T1");
  add_ports(topology, node, names, &db);
  add_interfaces(node, names, &db);
  add_segment(topology.spec(), node, &db);
  add_routes(node, names, &db);
  add_queues(topology.spec(), node, names, &db);
  return db;
}

}  // namespace mrc::fabric
