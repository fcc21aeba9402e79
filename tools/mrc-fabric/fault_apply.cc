#include "fault_apply.h"

#include <algorithm>

#include "carrier.h"
#include "command.h"
#include "fault.h"
#include "render_linux.h"
#include "soft_switch.h"

namespace mrc::fabric {
namespace {

struct End {
  const Link* link;
  const Port* port;
};

struct Part {
  NodeId node;
  std::vector<End> ends;
};

void add(std::vector<Part>* parts, const Link* link, const Port& port) {
  auto part = std::find_if(parts->begin(), parts->end(), [&](const Part& p) { return p.node == port.node; });
  if (part == parts->end()) part = parts->insert(parts->end(), {port.node, {}});
  part->ends.push_back({link, &port});
}

// Upper ends first: a link falls by them.
std::vector<Part> by_node(const std::vector<const Link*>& links, const NodeId* first) {
  std::vector<Part> parts;
  if (first != nullptr) parts.push_back({*first, {}});
  for (const Link* l : links) add(&parts, l, l->upper);
  for (const Link* l : links) add(&parts, l, l->lower);
  return parts;
}

// Routes over several ports are set without those that are down, which the kernel would refuse.
void drop_dead_hops(const Topology& topology, const Json& faults, NodeConfig* node) {
  for (RouteConfig& r : node->routes) {
    if (r.hops.size() < 2) continue;
    r.hops.erase(std::remove_if(r.hops.begin(), r.hops.end(),
                                [&](const NextHop& h) {
                                  const Link& l = topology.link(node->name + ":" + h.interface);
                                  return condition_of(faults, l, Topology::end_at(l, node->id)).down;
                                }),
                 r.hops.end());
  }
}

std::string carrier_commands(const NodeConfig& node, const Part& part, const Json& faults) {
  std::string down, up;
  for (const End& e : part.ends) {
    if (condition_of(faults, *e.link, *e.port).down) {
      down += "link set " + e.port->name + " down\n";
    } else {
      up += render_ip(node, e.port->name);
    }
  }
  return down + up;
}

void apply_traffic(const LabState& state, const NodeConfig& node, bool soft, const Part& part, const Json& faults) {
  const std::string netns = state.netns(part.node);
  std::string tc;
  for (const End& e : part.ends) {
    const std::string& name = e.port->name;
    const auto i = std::find_if(node.interfaces.begin(), node.interfaces.end(),
                                [&](const InterfaceConfig& x) { return x.name == name; });
    const PortCondition c = condition_of(faults, *e.link, *e.port);
    const double rate = c.rate > 0 ? c.rate : i->rate;
    if (soft) {
      set_switch_rate(state, part.node, name, rate);
    } else {
      tc += render_rate(*i, rate);
    }
    // The filter belongs to a qdisc of its own beside the shaper; it is removed with the qdisc.
    run_command({"tc", "-n", netns, "qdisc", "del", "dev", name, "clsact"});
    if (c.loss > 0)
      tc += "qdisc add dev " + name + " clsact\nfilter add dev " + name +
            " egress protocol all pref 1 bpf direct-action bytecode \"" + loss_bytecode(c.loss) + "\"\n";
  }
  run_batch("tc", netns, tc);
}

}  // namespace

void apply_faults(const LabState& state, const Topology& topology, const Json& faults,
                  const std::vector<const Link*>& links, Aspect aspect, const NodeId* first) {
  for (const Part& part : by_node(links, first)) {
    const bool soft = is_soft_switch(topology.spec(), part.node);
    const NodeConfig planned = node_config(topology, part.node);
    NodeConfig node = soft ? kernel_part(planned) : planned;
    drop_dead_hops(topology, faults, &node);
    if (aspect != Aspect::kTraffic) run_batch("ip", state.netns(part.node), carrier_commands(node, part, faults));
    if (aspect != Aspect::kCarrier) apply_traffic(state, planned, soft, part, faults);
  }
  if (aspect != Aspect::kTraffic) wait_for_carriers(state, faults, links);
}

}  // namespace mrc::fabric
