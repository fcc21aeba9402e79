#include "walk.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "render_hosts.h"

namespace mrc::fabric {
namespace {

constexpr size_t kMaxHops = 16;  // loops end; the longest way of two tiers has five nodes

bool matches(const IpAddress& address, const std::string& prefix, int* length) {
  const size_t slash = prefix.find('/');
  const std::optional<IpAddress> base = IpAddress::parse(prefix.substr(0, slash));
  if (!base) return false;
  *length = std::atoi(prefix.c_str() + slash + 1);
  for (int bit = 0; bit < *length; ++bit)
    if (((address.bytes[static_cast<size_t>(bit / 8)] ^ base->bytes[static_cast<size_t>(bit / 8)]) >> (7 - bit % 8) &
         1) != 0)
      return false;
  return true;
}

const RouteConfig* look_up(const NodeConfig& node, const IpAddress& address) {
  const RouteConfig* best = nullptr;
  int best_length = -1;
  for (const RouteConfig& r : node.routes)
    if (int length = 0; r.table == 0 && matches(address, r.prefix, &length) && length > best_length) {
      best = &r;
      best_length = length;
    }
  return best;
}

bool is_own(const NodeConfig& node, const IpAddress& address) {
  const std::string text = address.to_string();
  if (text == node.loopback) return true;
  for (const InterfaceConfig& i : node.interfaces)
    for (const AddressConfig& a : i.addresses)
      if (a.text == text + "/128") return true;
  return false;
}

std::string hex_label(uint32_t label) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%04x", label);
  return text;
}

// Shifts out the node's own uSID, then chooses the next hop. False: the path ends here, and *end has the reason.
bool forward(const FabricSpec& spec, const NodeConfig& node, Hop* hop, Walk* walk) {
  const RouteConfig* route = is_own(node, hop->leaves) ? nullptr : look_up(node, hop->leaves);
  if (route != nullptr && route->kind == RouteKind::kUn) {
    sim::shift_usid(&hop->leaves, spec.usid.block, node.usid);
    route = is_own(node, hop->leaves) ? nullptr : look_up(node, hop->leaves);
  }
  if (is_own(node, hop->leaves) || (route != nullptr && route->kind == RouteKind::kDecap)) {
    walk->arrived = true;
    walk->end = is_own(node, hop->leaves) ? "arrived" : "arrived, to be decapsulated";
    return false;
  }
  if (route == nullptr || route->kind != RouteKind::kVia) {
    walk->end = route == nullptr ? "no route" : "dropped: no table knows this destination";
    return false;
  }
  walk->by_hash = walk->by_hash || route->hops.size() > 1;
  hop->out = route->hops[0].interface;
  return true;
}

}  // namespace

Walk walk_packet(const Topology& topology, uint32_t source, const IpAddress& destination) {
  Walk walk;
  Hop hop{{Role::kHost, 0, source}, "", "", destination, destination};
  for (;;) {
    const bool onwards = forward(topology.spec(), node_config(topology, hop.node), &hop, &walk);
    walk.hops.push_back(hop);
    if (!onwards) return walk;
    if (walk.hops.size() == kMaxHops) {
      walk.end = "goes round in circles";
      return walk;
    }
    const Link& link = topology.link(node_name(hop.node) + ":" + hop.out);
    const Port& next = Topology::other_end(link, hop.node);
    hop = {next.node, next.name, "", hop.leaves, hop.leaves};
  }
}

std::vector<std::string> paths_of_ev(const Topology& topology, const std::string& text) {
  if (text.rfind("0x", 0) != 0 && text.rfind("0X", 0) != 0) return {};
  const FabricSpec& f = topology.plan().spec();
  const uint32_t evs = f.ev.count + f.ev.backups, entries = (evs + f.planes - 1) / f.planes;
  char* end = nullptr;
  unsigned long label = std::strtoul(text.c_str(), &end, 16), port = 0;
  if (label > 0xFFFF && *end != ':') label >>= 16;
  if (*end == ':' && std::isdigit(static_cast<unsigned char>(end[1])) != 0) std::strtoul(end + 1, &end, 10);
  if (*end == '@') {
    port = std::strtoul(end + 1, &end, 10);
    if (port == 0) port = f.planes + 1;
  }
  std::vector<std::string> paths;
  for (uint32_t p = 0; p < f.planes; ++p)
    if ((port == 0 || port == p + 1) && label >= 1 && p + (label - 1) * f.planes < evs)
      paths.push_back(std::to_string(p) + "/" + std::to_string((label - 1) % f.t1));
  if (!hosts_name_paths(f))
    throw UsageError("EV '" + text + "': hosts of this fabric have EVs that name no path (forwarding: srv6 has them)");
  if (*end != 0 || label > 0xFFFF || paths.empty())
    throw UsageError("EV '" + text + "'; allowed: LABEL or LABEL:PORT from 0x0001 to " + hex_label(entries) +
                     ", and behind it @1 to @" + std::to_string(f.planes) + " for one port of the device");
  return paths;
}

PathChoice choose_path(const Topology& topology, uint32_t source, uint32_t target, const std::string& text) {
  const FabricPlan& plan = topology.plan();
  const FabricSpec& f = plan.spec();
  PathChoice choice;
  if (text.find(':') != std::string::npos) {
    const std::optional<IpAddress> destination = IpAddress::parse(text);
    if (!destination) throw UsageError("'" + text + "' is not an IPv6 address");
    choice.destination = *destination;
    choice.words = "by its address";
    return choice;
  }
  char* end = nullptr;
  unsigned long plane = std::strtoul(text.c_str(), &end, 10), t1 = 0;
  const std::string allowed =
      "; allowed: PLANE/T1 with planes 0 to " + std::to_string(f.planes - 1) + " and T1s 0 to " +
      std::to_string(f.t1 - 1) +
      ", the number of an EV of the source's device, an EV as 0x0003 or 0x0003:56938, the list itself, or `all`";
  if (end != text.c_str() && *end == '/') {
    const char* second = end + 1;
    t1 = std::strtoul(second, &end, 10);
    if (end == second || *end != 0 || plane >= f.planes || t1 >= f.t1)
      throw UsageError("path '" + text + "'" + allowed);
  } else {
    // As the library counts them for a host's file (render_hosts.h): planes in turn, and the paths of a plane in turn.
    const unsigned long ev = plane;
    if (end == text.c_str() || *end != 0 || ev >= f.ev.count + f.ev.backups)
      throw UsageError("EV '" + text + "'" + allowed);
    plane = ev % f.planes;
    t1 = ev / f.planes % f.t1;
  }
  choice.destination = plan.path(static_cast<uint32_t>(plane), source, static_cast<uint32_t>(t1), target);
  choice.words = "plane " + std::to_string(plane) +
                 (f.t0_of(source) == f.t0_of(target) ? ", T0 alone" : " over T1 " + std::to_string(t1));
  return choice;
}

}  // namespace mrc::fabric
