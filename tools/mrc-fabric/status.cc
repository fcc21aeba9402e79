#include "status.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "command.h"
#include "soft_switch.h"

namespace mrc::fabric {
namespace {

Json parse_output(const std::string& text) {
  return text.empty() ? Json::array() : Json::parse(text);
}

// One end of a link as `ip -j -s link` and `tc -j -s qdisc` show it.
Json describe_port(const Json& link, const Json& qdiscs) {
  const Json& tx = link["stats64"]["tx"];
  const auto flags = link["flags"].get<std::vector<std::string>>();
  const auto has = [&](const char* flag) { return std::find(flags.begin(), flags.end(), flag) != flags.end(); };
  // ip's NO-CARRIER is up to 1 s late.
  Json port = {{"state", !has("UP")         ? "down"
                         : !has("LOWER_UP") ? "no carrier"
                                            : "up"},
               {"tx_packets", tx["packets"]},
               {"tx_bytes", tx["bytes"]},
               {"queue_drops", 0},
               {"queue_bytes", 0},
               {"fault_drops", 0}};
  for (const Json& q : qdiscs) {
    if (q.value("dev", "") != link["ifname"]) continue;
    if (q["kind"] == "bfifo") {
      port["queue_drops"] = q["drops"];
      port["queue_bytes"] = q["backlog"];
    } else if (q["kind"] == "clsact") {
      port["fault_drops"] = q["drops"];
    }
  }
  return port;
}

// The queues of a switch in user space are its own, not those of the kernel.
void add_soft_ports(const std::string& name, const Json& report, std::map<std::string, Json>* ports) {
  for (const Json& p : report["ports"]) {
    Json& port = (*ports)[name + ":" + p["port"].get<std::string>()];
    port["queue_drops"] = p["dropped"];
    port["queue_bytes"] = p["queue_bytes"];
    port["marked"] = p["marked"];
    port["trimmed"] = p["trimmed"];
  }
}

std::map<std::string, Json> describe_ports(const LabState& state, const Topology& topology) {
  std::map<std::string, Json> ports;
  for (const NodeId& node : topology.nodes()) {
    const std::string netns = state.netns(node);
    if (!netns_exists(netns)) continue;
    const Json links = parse_output(need_command({"ip", "-n", netns, "-j", "-s", "link", "show"}));
    const Json qdiscs = parse_output(need_command({"tc", "-n", netns, "-j", "-s", "qdisc", "show"}));
    for (const Json& link : links)
      if (link.contains("stats64"))
        ports[node_name(node) + ":" + link["ifname"].get<std::string>()] = describe_port(link, qdiscs);
    const Json report = is_soft_switch(topology.spec(), node) ? switch_report(state, node) : Json();
    if (!report.is_null()) add_soft_ports(node_name(node), report, &ports);
  }
  return ports;
}

std::string bytes_text(const Json& port) {
  return port.is_null() ? "-" : sim::format_bytes(port["tx_bytes"].get<double>());
}

uint64_t drops_of(const Json& port, const char* kind) {
  return port.is_null() ? 0 : port[kind].get<uint64_t>();
}

uint64_t drops_of_link(const Json& link, const char* kind) {
  return drops_of(link["up"], kind) + drops_of(link["down"], kind);
}

}  // namespace

Json describe_lab(const LabState& state, const Topology& topology) {
  const FabricSpec& f = topology.spec();
  Json lab = {{"lab", state.lab()},
              {"fabric", f.name},
              {"complete", state.complete()},
              {"planes", f.planes},
              {"t0", f.t0},
              {"t1", f.t1},
              {"hosts", f.nics()},
              {"prefix", state.prefix()},
              {"faults", state.faults()},
              {"missing", Json::array()},
              {"mrc_switches", Json::object()},
              {"links", Json::array()}};
  for (const NodeId& node : topology.nodes())
    if (!netns_exists(state.netns(node))) lab["missing"].push_back(node_name(node));
  for (const NodeId& node : topology.nodes())
    if (is_soft_switch(f, node))
      lab["mrc_switches"][node_name(node)] = switch_report(state, node).is_null() ? "dead" : "runs";
  const std::map<std::string, Json> ports = describe_ports(state, topology);
  const auto port_of = [&](const Port& p) {
    const auto found = ports.find(port_name(p));
    return found == ports.end() ? Json() : found->second;
  };
  for (const Link& l : topology.links()) {
    Json link = {{"lower", port_name(l.lower)},
                 {"upper", port_name(l.upper)},
                 {"kind", l.is_management() ? "management"
                          : l.is_spine()    ? "spine"
                                            : "nic"},
                 {"rate_bps", l.rate * f.lab.rate_scale},
                 {"up", port_of(l.lower)},     // sent towards the T1s
                 {"down", port_of(l.upper)}};  // sent towards the hosts
    const bool works = !link["up"].is_null() && !link["down"].is_null() && link["up"]["state"] == "up" &&
                       link["down"]["state"] == "up";
    link["state"] = works ? "up" : "down";
    lab["links"].push_back(link);
  }
  return lab;
}

bool lab_ok(const Json& lab) {
  for (const auto& [node, state] : lab["mrc_switches"].items())
    if (state == "dead" && !is_put_down(lab["faults"], node)) return false;
  return lab["complete"].get<bool>() && lab["missing"].empty();
}

std::string status_table(const Json& lab) {
  std::string text = "lab " + lab["lab"].get<std::string>() + ": fabric " + lab["fabric"].get<std::string>() + ", " +
                     lab["planes"].dump() + " planes of " + lab["t0"].dump() + " T0 and " + lab["t1"].dump() + " T1, " +
                     lab["hosts"].dump() + " hosts" + (lab["complete"].get<bool>() ? "" : ", INCOMPLETE") + "\n";
  for (const Json& node : lab["missing"]) text += "missing: " + node.get<std::string>() + "\n";
  for (const auto& [node, state] : lab["mrc_switches"].items())
    if (state == "dead")
      text += "dead: mrc-switch of " + node +
              (is_put_down(lab["faults"], node) ? ", by a fault\n" : "; `mrc-fabric up` starts it\n");
  char line[256];
  std::snprintf(line, sizeof line, "%-18s %-18s %-5s %8s %10s %10s %8s %8s\n", "lower end", "upper end", "state",
                "rate", "sent up", "sent down", "queue", "fault");
  text += line;
  for (const Json& l : lab["links"]) {
    if (l["kind"] == "management") continue;
    std::snprintf(line, sizeof line, "%-18s %-18s %-5s %8s %10s %10s %8llu %8llu\n",
                  l["lower"].get<std::string>().c_str(), l["upper"].get<std::string>().c_str(),
                  l["state"].get<std::string>().c_str(), sim::format_rate(l["rate_bps"].get<double>()).c_str(),
                  bytes_text(l["up"]).c_str(), bytes_text(l["down"]).c_str(),
                  static_cast<unsigned long long>(drops_of_link(l, "queue_drops")),
                  static_cast<unsigned long long>(drops_of_link(l, "fault_drops")));
    text += line;
  }
  for (const auto& [where, what] : lab["faults"].items()) text += "fault: " + where + " " + what.dump() + "\n";
  return text;
}

}  // namespace mrc::fabric
