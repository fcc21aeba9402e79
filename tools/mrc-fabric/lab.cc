#include "lab.h"

#include <unistd.h>

#include <fstream>

#include "carrier.h"
#include "command.h"
#include "render_hosts.h"
#include "render_linux.h"
#include "soft_switch.h"

namespace mrc::fabric {
namespace {

// A lab under removal counts as incomplete from its first missing part: a process killed halfway leaves a remainder
// that the next `up` or `down` removes.
void remove_all(LabState* state) {
  if (state->exists()) state->set_complete(false);
  const std::vector<std::string> names = state->namespaces();
  end_processes(names);
  for (const std::string& name : names) netns_remove(name);
  state->remove_folder();
}

void apply_settings(const std::string& netns, const NodeConfig& config) {
  inside_netns(netns, [&] {
    for (const auto& [path, value] : render_settings(config)) {
      std::ofstream out("/proc/sys/" + path);
      out << value << std::flush;
      if (!out) throw FabricError("/proc/sys/" + path + " of " + netns + " cannot be set to " + value);
    }
  });
}

// Without nft only mrc-switch's marks are lost, the kernel's queues have none.
void keep_marks(const std::string& netns, const NodeConfig& config) {
  static const bool installed = run_command({"sh", "-c", "command -v nft || exit 1"}).status == 0;
  const std::string marks = render_marks(config);
  if (installed && !marks.empty()) need_command({"ip", "netns", "exec", netns, "nft", "-f", "-"}, marks);
}

void stop_if_asked() {
  if (caught_signal() != 0) throw FabricError("interrupted");
}

void build(LabState* state, const Topology& topology) {
  need_command({"ip", "-batch", "-"}, render_links(topology, state->prefix()));
  for (const NodeId& node : topology.nodes()) {
    stop_if_asked();
    configure_node(*state, topology, node);
  }
  turn_off_offloads(*state, topology);
  keep_switches(*state, topology, Json::object());
  std::vector<const Link*> links;
  for (const Link& l : topology.links()) links.push_back(&l);
  wait_for_carriers(*state, Json::object(), links);
  for (uint32_t n = 0; n < topology.spec().nics(); ++n) write_text(state->host_file(n), render_host(topology, n));
  write_text(state->names_file(), render_names(topology));
}

bool all_there(const LabState& state, const Topology& topology) {
  for (const NodeId& node : topology.nodes())
    if (!netns_exists(state.netns(node))) return false;
  return true;
}

}  // namespace

void need_root(const char* what) {
  if (geteuid() == 0) return;
  throw FabricError(std::string(what) +
                    " needs root, because it makes and enters network namespaces: run it with sudo.\n"
                    "Without root: mrc-fabric render, mrc-fabric trace --fabric FABRIC, mrc-fabric list");
}

std::string fabric_text(const std::string& name_or_path, double scale) {
  // One that is up may be named by its file, a built-in name, or a file with `base: NAME`.
  const bool built_in = sim::find_builtin(name_or_path) != nullptr;
  const bool path =
      !built_in && (name_or_path.find_first_of("/.") != std::string::npos || access(name_or_path.c_str(), F_OK) == 0);
  if (!built_in && !path)
    throw UsageError("'" + name_or_path + "' is neither a file nor a built-in fabric; those are " +
                     sim::builtin_names());
  const sim::Source source{path ? name_or_path : "FABRIC"};
  const YAML::Node given = path ? sim::load_yaml(source, sim::read_file(name_or_path)) : YAML::Node(name_or_path);
  sim::ExpandedFabric fabric = sim::expand_fabric(given, source, ".");
  if (scale > 0) fabric.node["lab"]["rate_scale"] = scale;
  sim::read_fabric(fabric.node, fabric.source);  // complains with the names of the user's file
  return YAML::Dump(fabric.node) + "\n";
}

FabricSpec fabric_of(const std::string& text) {
  const sim::Source source{"fabric"};
  return sim::read_fabric(sim::load_yaml(source, text), source);
}

void configure_node(const LabState& state, const Topology& topology, const NodeId& node) {
  NodeConfig config = node_config(topology, node);
  if (is_soft_switch(topology.spec(), node)) config = kernel_part(std::move(config));
  const std::string netns = state.netns(node);
  apply_settings(netns, config);
  run_batch("ip", netns, render_ip(config));
  run_batch("tc", netns, render_tc(config));
  keep_marks(netns, config);
}

UpResult up(LabState* state, const std::string& fabric, bool replace, std::unique_ptr<Guardian>* kept) {
  const FabricSpec spec = fabric_of(fabric);
  const uint64_t nodes = uint64_t{spec.nics()} + uint64_t{spec.planes} * (spec.t0 + spec.t1) + 1;
  if (nodes > kMaxNodes)
    throw FabricError("this fabric has " + std::to_string(nodes) + " nodes, one machine plays at most " +
                      std::to_string(kMaxNodes) + "; mrc-sim simulates it");
  const Topology topology(spec);
  for (const NodeId& node : topology.nodes()) node_config(topology, node);  // refuses before anything is made
  UpResult result;
  result.nodes = topology.nodes().size();
  result.links = topology.links().size();

  LabLock lock(state);
  if (state->exists() && state->complete() && !replace && !is_orphan(*state)) {
    if (state->fabric_text() != fabric)
      throw FabricError("lab '" + state->lab() + "' is up with another fabric; use --replace, or another --lab");
    if (all_there(*state, topology)) {
      keep_switches(*state, topology, state->faults());
      return result;
    }
  }
  const bool ours = state->exists();
  if (!ours && !state->namespaces().empty())
    throw FabricError("namespace " + state->namespaces()[0] +
                      " exists and no lab owns it; use another --lab, or remove "
                      "it with `mrc-fabric down --lab " +
                      state->lab() + "`");
  if (ours) {
    state->set_complete(false);
    end_processes(state->namespaces());
    for (const std::string& name : state->namespaces()) netns_remove(name);
    state->set_faults(Json::object());
  }
  disown(*state);
  if (kept != nullptr) result.owner = std::make_unique<Owner>(*state);
  auto guardian = std::make_unique<Guardian>([&] {
    if (lock.relock() && (kept != nullptr || !state->complete())) remove_all(state);
  });
  state->set_fabric_text(fabric);
  try {
    build(state, topology);
    stop_if_asked();
    state->set_complete(true);
  } catch (...) {
    guardian.reset();  // removes everything before it returns
    throw;
  }
  if (kept != nullptr) {
    *kept = std::move(guardian);
  } else {
    guardian->dismiss();
  }
  result.built = true;
  return result;
}

size_t down(LabState* state) {
  LabLock lock(state);
  const size_t count = state->namespaces().size();
  remove_all(state);
  return count;
}

}  // namespace mrc::fabric
