#include "render_linux.h"

#include <algorithm>

namespace mrc::fabric {
namespace {

// The End behaviour with next-csid: match BLOCK:OWN::/48, shift the list by one uSID, look up again.
constexpr const char* kUn = "encap seg6local action End flavors next-csid lblen 32 nflen 16";
// Local segments need a device that never goes down with a port. `dummy` is not in every kernel, veth is.
constexpr const char* kSegmentDevice = "usid";

bool uses(const RouteConfig& route, const std::string& interface) {
  return std::any_of(route.hops.begin(), route.hops.end(), [&](const NextHop& h) { return h.interface == interface; });
}

std::string render_route(const RouteConfig& r) {
  const std::string head = "route replace ";
  switch (r.kind) {
    case RouteKind::kUn:
      return head + r.prefix + " " + kUn + " dev " + kSegmentDevice + "\n";
    case RouteKind::kDecap:
      return head + r.prefix + " encap seg6local action End.DT6 table 255 dev " + r.hops[0].interface + "\n";
    case RouteKind::kEncap:
      return head + r.prefix + " encap seg6 mode encap.red segs " + r.segments + " dev " + r.hops[0].interface +
             " table " + std::to_string(r.table) + "\n";
    case RouteKind::kBlackhole:
      return "route replace blackhole " + r.prefix + " metric 4096\n";
    case RouteKind::kVia:
      break;
  }
  std::string line = head + r.prefix;
  if (!r.source.empty()) line += " src " + r.source;
  for (const NextHop& h : r.hops)
    line += std::string(r.hops.size() > 1 ? " nexthop" : "") + " via " + h.via + " dev " + h.interface;
  return line + "\n";
}

std::string render_interface(const InterfaceConfig& i) {
  std::string text = "link set " + i.name + " addrgenmode none multicast off mtu " + std::to_string(i.mtu) + " up\n";
  for (const AddressConfig& a : i.addresses)
    text += "address replace " + a.text + " dev " + i.name + " nodad" + (a.preferred ? "" : " preferred_lft 0") + "\n";
  return text + "neighbour replace " + i.peer_address + " lladdr " + i.peer_mac + " nud permanent dev " + i.name + "\n";
}

// `rule add` would add it again.
std::string render_rule(const RuleConfig& r) {
  const std::string table = std::to_string(r.table);
  return "rule flush table " + table + "\nrule add pref " + table + " iif lo ipproto udp sport " +
         std::to_string(r.source_ports.first) + "-" + std::to_string(r.source_ports.last) + " table " + table + "\n";
}

std::string bits(double rate) {
  return std::to_string(static_cast<int64_t>(rate)) + "bit";
}

}  // namespace

std::string render_links(const Topology& topology, const std::string& prefix) {
  std::string text;
  for (const NodeId& n : topology.nodes()) text += "netns add " + prefix + node_name(n) + "\n";
  for (const Link& l : topology.links())
    text += "link add " + l.lower.name + " netns " + prefix + node_name(l.lower.node) + " address " + l.lower.mac +
            " type veth peer name " + l.upper.name + " netns " + prefix + node_name(l.upper.node) + " address " +
            l.upper.mac + "\n";
  for (const NodeId& n : topology.nodes())
    if (n.role == Role::kT0 || n.role == Role::kT1)
      text += std::string("link add ") + kSegmentDevice + " netns " + prefix + node_name(n) + " type veth peer name " +
              kSegmentDevice + "-end netns " + prefix + node_name(n) + "\n";
  return text;
}

std::vector<KernelSetting> render_settings(const NodeConfig& node) {
  std::vector<KernelSetting> all = {{"net/ipv6/conf/all/keep_addr_on_down", "1"}};
  if (node.forwards) all.push_back({"net/ipv6/conf/all/forwarding", "1"});
  if (node.forwards) all.push_back({"net/ipv6/icmp/ratelimit", "0"});  // every probe of a trace is answered
  if (node.hashes) all.push_back({"net/ipv6/fib_multipath_hash_policy", "1"});
  // Sockets of other programs, whose port the kernel chooses, must not get one that means a path.
  if (!node.rules.empty())
    all.push_back({"net/ipv4/ip_local_reserved_ports",
                   std::to_string(kSourcePorts.first) + "-" + std::to_string(kSourcePorts.last)});
  // Packets with a segment routing header are accepted if both `all` and the interface permit it.
  all.push_back({"net/ipv6/conf/all/seg6_enabled", "1"});
  for (const InterfaceConfig& i : node.interfaces) {
    all.push_back({"net/ipv6/conf/" + i.name + "/seg6_enabled", "1"});
    all.push_back({"net/ipv6/conf/" + i.name + "/accept_ra", "0"});  // no router advertises, so no host solicits
  }
  return all;
}

std::string render_ip(const NodeConfig& node, const std::string& only) {
  std::string text;
  if (only.empty()) {
    text += "link set lo up\n";
    if (!node.loopback.empty())
      text += "address replace " + node.loopback + "/128 dev lo nodad\nlink set " + kSegmentDevice +
              "-end addrgenmode none up\nlink set " + kSegmentDevice + " addrgenmode none up\n";
  }
  for (const InterfaceConfig& i : node.interfaces)
    if (only.empty() || only == i.name) text += render_interface(i);
  for (const RouteConfig& r : node.routes)
    if (only.empty() || uses(r, only)) text += render_route(r);
  if (only.empty())
    for (const RuleConfig& r : node.rules) text += render_rule(r);
  return text;
}

std::string render_marks(const NodeConfig& node) {
  if (node.rules.empty()) return "";
  // The first two lines make what follows replace an older table.
  return "table ip6 mrc_marks\ndelete table ip6 mrc_marks\ntable ip6 mrc_marks {\n"
         "  chain outer { type filter hook prerouting priority raw; ip6 nexthdr ipv6 ip6 ecn ce meta mark set 0x6d72; }\n"
         "  chain inner { type filter hook input priority mangle; meta mark 0x6d72 ip6 ecn set ce; }\n}\n";
}

std::string render_rate(const InterfaceConfig& i, double rate) {
  // A burst of 100 us, and never less than the largest GSO packet, which goes at once.
  const int64_t burst = std::max<int64_t>(128 << 10, static_cast<int64_t>(rate / 8 * 1e-4));
  return "class replace dev " + i.name + " parent 1: classid 1:1 htb rate " + bits(rate) + " ceil " + bits(rate) +
         " burst " + std::to_string(burst) + "b cburst " + std::to_string(burst) + "b quantum 60000\n";
}

std::string render_tc(const NodeConfig& node) {
  std::string text;
  for (const InterfaceConfig& i : node.interfaces) {
    if (i.rate == 0) continue;
    text += "qdisc replace dev " + i.name + " root handle 1: htb default 1\n" + render_rate(i, i.rate) +
            "qdisc replace dev " + i.name + " parent 1:1 handle 10: bfifo limit " + std::to_string(i.queue) + "\n";
  }
  return text;
}

std::string render_script(const FabricSpec& spec, const NodeConfig& node) {
  std::string text = "#!/bin/sh\n# " + node.name + " of fabric " + spec.name + ". Ports:";
  for (const InterfaceConfig& i : node.interfaces) text += "\n#   " + i.name + " to " + i.peer;
  text += "\nset -e\n";
  for (const auto& [path, value] : render_settings(node)) text += "sysctl -q -w " + path + "=" + value + "\n";
  if (!node.loopback.empty())
    text += std::string("ip link show ") + kSegmentDevice + " >/dev/null 2>&1 || ip link add " + kSegmentDevice +
            " type veth peer name " + kSegmentDevice + "-end\n";
  // Neighbour entries are static, so both ends must have the addresses of the plan.
  for (const InterfaceConfig& i : node.interfaces) text += "ip link set " + i.name + " down address " + i.mac + "\n";
  for (const InterfaceConfig& i : node.interfaces)
    if (i.rate != 0) text += "tc qdisc del dev " + i.name + " root 2>/dev/null || true\n";
  const auto feed = [&](const std::string& program, const std::string& batch) {
    if (!batch.empty()) text += program + " -batch - <<'EOF'\n" + batch + "EOF\n";
  };
  feed("ip -6", render_ip(node));
  feed("tc", render_tc(node));
  if (const std::string marks = render_marks(node); !marks.empty())
    text += "if command -v nft >/dev/null; then nft -f - <<'EOF'\n" + marks + "EOF\nfi\n";
  return text;
}

}  // namespace mrc::fabric
