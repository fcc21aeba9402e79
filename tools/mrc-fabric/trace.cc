#include "trace.h"

#include <cstdio>

namespace mrc::fabric {
namespace {

uint32_t packets_at(const std::map<std::string, uint32_t>& side, const std::string& port) {
  const auto found = side.find(port);
  return found == side.end() ? 0 : found->second;
}

// A fault of the link or of the switch, in the words of the lab's state.
Json fault_on(const Topology& topology, const Json& faults, const Hop& hop) {
  Json found = Json::array();
  const auto look = [&](const std::string& where) {
    if (faults.contains(where)) found.push_back({{"where", where}, {"what", faults[where]}});
  };
  look(node_name(hop.node));
  if (hop.out.empty()) return found;
  const Link& l = topology.link(node_name(hop.node) + ":" + hop.out);
  look(port_name(l.lower));
  look(port_name(l.upper));
  return found;
}

Json hop_json(const Topology& topology, const Hop& hop, const Json& faults) {
  Json j = {{"node", node_name(hop.node)}};
  if (!hop.in.empty()) j["in"] = hop.in;
  if (!hop.out.empty()) j["out"] = hop.out;
  j["destination"] = hop.leaves.to_string();
  if (const Json found = fault_on(topology, faults, hop); !found.empty()) j["faults"] = found;
  return j;
}

// Adds to each hop how many probes were seen there; elsewhere is what no computed hop explains.
void add_observation(const Walk& walk, const NodeId& target, const Observation& seen, uint32_t count, Json* path) {
  Observation rest = seen;
  for (size_t i = 0; i < walk.hops.size(); ++i) {
    const Hop& hop = walk.hops[i];
    Json& j = (*path)["hops"][i];
    const std::string in = node_name(hop.node) + ":" + hop.in, out = node_name(hop.node) + ":" + hop.out;
    if (!hop.in.empty()) {
      j["seen_in"] = packets_at(seen.in, in);
      rest.in.erase(in);
    }
    if (!hop.out.empty()) {
      j["seen_out"] = packets_at(seen.out, out);
      rest.out.erase(out);
    }
  }
  (*path)["sent"] = count;
  (*path)["arrived"] = count_at(seen, target);  // the way may end at another node
  Json elsewhere = Json::array();
  for (const auto& [port, packets] : rest.in) elsewhere.push_back({{"in", port}, {"packets", packets}});
  for (const auto& [port, packets] : rest.out) elsewhere.push_back({{"out", port}, {"packets", packets}});
  if (!elsewhere.empty()) (*path)["elsewhere"] = elsewhere;
}

Json trace_one(const Topology& topology, const TraceRequest& r, const std::string& text, const LabState* state) {
  const PathChoice choice = choose_path(topology, r.source, r.target, text);
  const Walk walk = walk_packet(topology, r.source, choice.destination);
  const NodeId target{Role::kHost, 0, r.target};
  Json path = {{"from", "h" + std::to_string(r.source)},
               {"to", node_name(target)},
               {"path", choice.words},
               {"destination", choice.destination.to_string()},
               {"computed", walk.end},
               {"reaches_target", walk.arrived && walk.hops.back().node == target},
               {"by_hash", walk.by_hash},
               {"hops", Json::array()}};
  const Json faults = state != nullptr ? state->faults() : Json::object();
  for (const Hop& hop : walk.hops) path["hops"].push_back(hop_json(topology, hop, faults));
  if (state != nullptr)
    add_observation(
        walk, target,
        observe(*state, topology, r.source, r.target, walk.hops.back().node, choice.destination, r.count, r.wait_ms),
        r.count, &path);
  return path;
}

std::string hop_text(const Json& hop, bool observed) {
  char line[256];
  std::snprintf(line, sizeof line, "  %-10s %-6s %-6s %-40s", hop["node"].get<std::string>().c_str(),
                hop.value("in", "").c_str(), hop.value("out", "").c_str(),
                hop["destination"].get<std::string>().c_str());
  std::string text = line;
  if (observed) {
    text += " seen";
    if (hop.contains("seen_in")) text += " in " + hop["seen_in"].dump();
    if (hop.contains("seen_out")) text += " out " + hop["seen_out"].dump();
  }
  if (hop.contains("faults"))
    for (const Json& f : hop["faults"]) text += "  FAULT " + f["where"].get<std::string>() + " " + f["what"].dump();
  return text + "\n";
}

}  // namespace

Json trace(const Topology& topology, const TraceRequest& r, const LabState* state) {
  Json all = Json::array();
  if (const std::vector<std::string> paths = paths_of_ev(topology, r.path); !paths.empty()) {
    for (const std::string& path : paths) all.push_back(trace_one(topology, r, path, state));
    return all;
  }
  if (r.path != "all") {
    all.push_back(trace_one(topology, r, r.path, state));
    return all;
  }
  const FabricSpec& f = topology.spec();
  const uint32_t t1s = f.t0_of(r.source) == f.t0_of(r.target) ? 1 : f.t1;
  for (uint32_t p = 0; p < f.planes; ++p)
    for (uint32_t j = 0; j < t1s; ++j)
      all.push_back(trace_one(topology, r, std::to_string(p) + "/" + std::to_string(j), state));
  return all;
}

std::string trace_text(const Json& traces) {
  std::string text;
  for (const Json& path : traces) {
    const bool observed = path.contains("sent");
    text += path["from"].get<std::string>() + " to " + path["to"].get<std::string>() + ", " +
            path["path"].get<std::string>() + ": " + path["destination"].get<std::string>() + "\n";
    for (const Json& hop : path["hops"]) text += hop_text(hop, observed);
    text += "  computed: " + path["computed"].get<std::string>() +
            (path["by_hash"].get<bool>() ? ", one of several ways by hash" : "");
    if (observed) text += "; observed: " + path["arrived"].dump() + " of " + path["sent"].dump() + " arrived";
    text += "\n";
    if (path.contains("elsewhere")) text += "  seen elsewhere: " + path["elsewhere"].dump() + "\n";
  }
  return text;
}

bool trace_ok(const Json& traces) {
  for (const Json& path : traces) {
    if (!path["reaches_target"].get<bool>()) return false;
    if (path.contains("sent") && path["arrived"] != path["sent"]) return false;
    if (path.contains("elsewhere") && !path["by_hash"].get<bool>()) return false;
  }
  return true;
}

}  // namespace mrc::fabric
