#include "setup.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace mrc::softswitch {
namespace {

using fabric::FabricError;
using fabric::NodeConfig;
using fabric::RouteConfig;
using fabric::RouteKind;

// Preamble, check sequence and gap, which the fabric file counts and a frame in memory does not have.
constexpr uint32_t kLineOverhead = 24;

Mac mac_of(const std::string& text) {
  Mac mac{};
  unsigned b[6];
  if (std::sscanf(text.c_str(), "%x:%x:%x:%x:%x:%x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) != 6)
    throw FabricError("'" + text + "' is no MAC address");
  std::copy(std::begin(b), std::end(b), mac.begin());
  return mac;
}

IpAddress address_of(const std::string& text) {
  const std::optional<IpAddress> a = IpAddress::parse(text);
  if (!a) throw FabricError("'" + text + "' is no address");
  return *a;
}

QueueConfig queue_config(const fabric::FabricSpec& f, bool last_hop) {
  const sim::SwitchSpec& s = f.sw;
  const double bdp = f.plane_bdp();
  QueueConfig q;
  q.trimming = s.trimming;
  q.trim_random = s.trim_random;
  q.last_hop = last_hop;
  q.trim_bytes = s.trim_bytes - kLineOverhead;
  q.drop_limit = s.drop_queue.bytes(bdp);
  q.data_limit = s.trimming ? (last_hop ? s.queue_last_hop : s.queue).bytes(bdp) : q.drop_limit;
  q.trimmed_limit = s.trimmed_queue.bytes(bdp);
  q.trimmed_share = s.trimmed_share;
  q.control_limit = s.control_queue.bytes(bdp);
  if (!last_hop || s.ecn_last_hop) {
    q.ecn_min = s.ecn_min.bytes(bdp);
    q.ecn_max = s.ecn_max.bytes(bdp);
    q.ecn_share = s.ecn_share;
  }
  return q;
}

}  // namespace

SwitchConfig switch_config(const fabric::Topology& topology, const NodeConfig& node) {
  if (node.loopback.empty()) throw FabricError("'" + node.name + "' is not a switch");
  SwitchConfig c;
  c.name = node.name;
  c.address = address_of(node.loopback);
  c.seed = node.usid;
  for (const fabric::InterfaceConfig& i : node.interfaces) {
    PortConfig p;
    p.name = i.name;
    p.own_mac = mac_of(i.mac);
    p.peer_mac = mac_of(i.peer_mac);
    p.mtu = i.mtu;
    p.rate = i.rate;
    const fabric::Link& link = topology.link(node.name + ":" + i.name);
    p.queue = queue_config(topology.spec(), link.lower.node.role == fabric::Role::kHost);
    c.ports.push_back(p);
  }
  return c;
}

void add_routes(const NodeConfig& node, const SwitchConfig& config, Forwarding* forwarding) {
  forwarding->set_own(config.address);
  for (const RouteConfig& r : node.routes) {
    if (r.kind != RouteKind::kVia && r.kind != RouteKind::kBlackhole) continue;
    const size_t slash = r.prefix.find('/');
    std::vector<uint16_t> ports;
    for (const fabric::NextHop& h : r.hops) {
      const auto at = std::find_if(config.ports.begin(), config.ports.end(),
                                   [&](const PortConfig& p) { return p.name == h.interface; });
      if (at != config.ports.end()) ports.push_back(static_cast<uint16_t>(at - config.ports.begin()));
    }
    forwarding->add_route(address_of(r.prefix.substr(0, slash)),
                          static_cast<uint32_t>(std::stoul(r.prefix.substr(slash + 1))), std::move(ports));
  }
}

}  // namespace mrc::softswitch
