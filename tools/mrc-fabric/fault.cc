#include "fault.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "fault_apply.h"
#include "guardian.h"
#include "soft_switch.h"

namespace mrc::fabric {
namespace {

const Link& fabric_link(const Topology& topology, const std::string& where) {
  const Link& l = topology.link(where);
  if (l.is_management()) throw UsageError("the management network has no faults");
  return l;
}

Json entry(const Json& faults, const std::string& where, const char* key) {
  const auto found = faults.find(where);
  return found == faults.end() || !found->contains(key) ? Json() : (*found)[key];
}

// One entry of the list; null removes it.
void change(LabState* state, const Topology& topology, const std::string& where, const Json& what,
            const std::vector<const Link*>& links, Aspect aspect, const NodeId* first = nullptr) {
  LabLock lock(state);
  if (!state->complete()) throw FabricError("lab '" + state->lab() + "' is not complete");
  Json faults = state->faults();
  for (const auto& [key, value] : what.items()) {
    if (value.is_null()) {
      if (faults.contains(where)) faults[where].erase(key);
    } else {
      faults[where][key] = value;
    }
  }
  if (faults.contains(where) && faults[where].empty()) faults.erase(where);
  state->set_faults(faults);  // first: a process killed now leaves a list that `clear` can undo
  keep_switches(*state, topology, faults);
  apply_faults(*state, topology, faults, links, aspect, first);
}

void wait_for(sim::Ps time) {
  timespec t{static_cast<time_t>(time / sim::kPsPerSecond),
             static_cast<long>(time % sim::kPsPerSecond / sim::kPsPerNs)};
  if (caught_signal() == 0) nanosleep(&t, nullptr);  // a signal ends it early
}

}  // namespace

std::string loss_bytecode(double share) {
  // Classic BPF; the ancillary load at SKF_AD_OFF + SKF_AD_RANDOM gives 32 random bits. 2 is TC_ACT_SHOT, 0 TC_ACT_OK.
  const double threshold = std::min(std::round(share * 4294967296.0), 4294967295.0);
  return "4,32 0 0 4294963256,53 1 0 " + std::to_string(static_cast<uint32_t>(threshold)) + ",6 0 0 2,6 0 0 0";
}

PortCondition condition_of(const Json& faults, const Link& link, const Port& port) {
  const std::string key = port_name(link.lower);
  const bool upper = &port == &link.upper;
  PortCondition c;
  c.down = (upper && entry(faults, key, "link") == "down") || entry(faults, port_name(port), "port") == "down" ||
           entry(faults, node_name(port.node), "switch") == "down";
  if (const Json loss = entry(faults, key, "loss"); !loss.is_null()) {
    const Json direction = entry(faults, key, "direction");
    if (direction == "both" || direction == (upper ? "down" : "up")) c.loss = loss.get<double>();
  }
  if (const Json rate = entry(faults, key, "rate"); !rate.is_null()) c.rate = rate.get<double>();
  return c;
}

void fault_link(LabState* state, const Topology& topology, const std::string& where, bool down) {
  const Link& l = fabric_link(topology, where);
  change(state, topology, port_name(l.lower), {{"link", down ? Json("down") : Json()}}, {&l}, Aspect::kCarrier);
}

void fault_port(LabState* state, const Topology& topology, const std::string& where, bool down) {
  const Link& l = fabric_link(topology, where);
  change(state, topology, where, {{"port", down ? Json("down") : Json()}}, {&l}, Aspect::kCarrier);
}

void fault_switch(LabState* state, const Topology& topology, const std::string& where, bool down) {
  const NodeId node = topology.node(where);
  if (!is_switch(node)) throw UsageError("'" + where + "' is not a switch");
  change(state, topology, where, {{"switch", down ? Json("down") : Json()}}, topology.links_of(node), Aspect::kCarrier,
         &node);
}

void fault_loss(LabState* state, const Topology& topology, const std::string& where, double share,
                const std::string& direction) {
  const Link& l = fabric_link(topology, where);
  const bool none = share <= 0;
  change(state, topology, port_name(l.lower),
         {{"loss", none ? Json() : Json(share)}, {"direction", none ? Json() : Json(direction)}}, {&l},
         Aspect::kTraffic);
}

void fault_rate(LabState* state, const Topology& topology, const std::string& where, double bps) {
  const Link& l = fabric_link(topology, where);
  change(state, topology, port_name(l.lower), {{"rate", bps}}, {&l}, Aspect::kTraffic);
}

void fault_flap(LabState* state, const Topology& topology, const std::string& where, sim::Ps down, sim::Ps up,
                uint32_t count) {
  for (uint32_t i = 0; i < count && caught_signal() == 0; ++i) {
    fault_link(state, topology, where, true);
    wait_for(down);
    fault_link(state, topology, where, false);
    if (i + 1 < count) wait_for(up);
  }
}

size_t fault_clear(LabState* state, const Topology& topology, const std::string& where) {
  LabLock lock(state);
  Json faults = state->faults();
  // A link is named by either of its ports, and a fault of a port by its own.
  std::string key = where, other_end = where;
  if (where.find(':') != std::string::npos) {
    key = port_name(topology.link(where).lower);
    other_end = port_name(topology.link(where).upper);
  }
  size_t lifted = 0;
  for (auto it = faults.begin(); it != faults.end();) {
    const bool meant = where.empty() || it.key() == where || it.key() == key || it.key() == other_end;
    lifted += meant ? it->size() - (it->contains("direction") ? 1 : 0) : 0;
    it = meant ? faults.erase(it) : std::next(it);
  }
  state->set_faults(faults);
  keep_switches(*state, topology, faults);
  std::vector<const Link*> links;
  for (const Link& l : topology.links()) {
    const bool meant = where.empty() || port_name(l.lower) == key || node_name(l.lower.node) == where ||
                       node_name(l.upper.node) == where;
    if (meant && !l.is_management()) links.push_back(&l);
  }
  apply_faults(*state, topology, faults, links, Aspect::kBoth);
  return lifted;
}

}  // namespace mrc::fabric
