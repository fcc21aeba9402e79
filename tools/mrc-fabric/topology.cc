#include "topology.h"

#include <cstdio>

#include "append_item.h"

namespace mrc::fabric {
namespace {

// 02: locally administered. Role and plane, then node and port, so that a capture can be read without a table.
std::string mac_of(const NodeId& node, uint32_t port) {
  const uint32_t first = static_cast<uint32_t>(node.role) << 4 | (node.plane & 15);
  const uint32_t rest = node.role == Role::kHost ? node.index << 8 | port : node.index << 16 | port;
  char text[32];
  std::snprintf(text, sizeof text, "02:%02x:%02x:%02x:%02x:%02x", first, rest >> 24, rest >> 16 & 255, rest >> 8 & 255,
                rest & 255);
  return text;
}

std::string numbered(const char* word, uint32_t index) {
  return word + std::to_string(index);
}

}  // namespace

std::string node_name(const NodeId& node) {
  const std::string index = std::to_string(node.index);
  switch (node.role) {
    case Role::kHost:
      return "h" + index;
    case Role::kT0:
      return "p" + std::to_string(node.plane) + "-t0-" + index;
    case Role::kT1:
      return "p" + std::to_string(node.plane) + "-t1-" + index;
    case Role::kManagement:
      break;
  }
  return "oob";
}

std::string port_name(const Port& port) {
  return node_name(port.node) + ":" + port.name;
}

Topology::Topology(const FabricSpec& spec) : plan_(spec) {
  for (uint32_t n = 0; n < spec.nics(); ++n) nodes_.push_back({Role::kHost, 0, n});
  for (uint32_t p = 0; p < spec.planes; ++p) {
    for (uint32_t i = 0; i < spec.t0; ++i) nodes_.push_back({Role::kT0, p, i});
    for (uint32_t j = 0; j < spec.t1; ++j) nodes_.push_back({Role::kT1, p, j});
  }
  const NodeId management{Role::kManagement, 0, 0};
  nodes_.push_back(management);

  const auto add = [&](NodeId lower, uint32_t lower_port, std::string lower_name, NodeId upper, uint32_t upper_port,
                       std::string upper_name, double rate) {
    links_.push_back({{lower, std::move(lower_name), mac_of(lower, lower_port)},
                      {upper, std::move(upper_name), mac_of(upper, upper_port)},
                      rate});
  };
  for (uint32_t p = 0; p < spec.planes; ++p) {
    for (uint32_t n = 0; n < spec.nics(); ++n)
      add({Role::kHost, 0, n}, p, numbered("p", p), {Role::kT0, p, spec.t0_of(n)}, n % spec.nics_per_t0,
          numbered("h", n), spec.nic_link.rate);
    for (uint32_t i = 0; i < spec.t0; ++i)
      for (uint32_t j = 0; j < spec.t1; ++j)
        add({Role::kT0, p, i}, spec.nics_per_t0 + j, numbered("t1-", j), {Role::kT1, p, j}, i, numbered("t0-", i),
            spec.spine_link.rate);
  }
  for (uint32_t n = 0; n < spec.nics(); ++n) add({Role::kHost, 0, n}, 255, "oob", management, n, numbered("h", n), 0);
}

std::vector<const Link*> Topology::links_of(const NodeId& node) const {
  std::vector<const Link*> found;
  for (const Link& l : links_)
    if (l.lower.node == node || l.upper.node == node) found.push_back(&l);
  return found;
}

NodeId Topology::node(const std::string& name) const {
  for (const NodeId& n : nodes_)
    if (node_name(n) == name) return n;
  const FabricSpec& f = spec();
  throw UsageError("there is no node '" + name + "'; this fabric has h0..h" + std::to_string(f.nics() - 1) +
                   ", pP-t0-N and pP-t1-N with P from 0 to " + std::to_string(f.planes - 1) + ", t0-0..t0-" +
                   std::to_string(f.t0 - 1) + ", t1-0..t1-" + std::to_string(f.t1 - 1) + ", and oob");
}

uint32_t Topology::host(const std::string& name) const {
  const bool number = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
  const NodeId found = node(number ? "h" + name : name);
  if (found.role != Role::kHost) throw UsageError("'" + name + "' is not a host");
  return found.index;
}

const Link& Topology::link(const std::string& port) const {
  for (const Link& l : links_)
    if (port_name(l.lower) == port || port_name(l.upper) == port) return l;
  const size_t colon = port.find(':');
  if (colon == std::string::npos)
    throw UsageError("'" + port + "' is not a link; a link is NODE:PORT, such as h0:p1 or p0-t0-0:t1-1");
  std::string ports;
  const NodeId at = node(port.substr(0, colon));
  for (const Link* l : links_of(at)) append_item(&ports, end_at(*l, at).name);
  throw UsageError("node " + node_name(at) + " has no port '" + port.substr(colon + 1) + "'; it has " + ports);
}

}  // namespace mrc::fabric
