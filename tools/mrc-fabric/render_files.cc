#include "render_files.h"

#include <filesystem>

#include "command.h"
#include "render_dot.h"
#include "render_frr.h"
#include "render_hosts.h"
#include "render_linux.h"
#include "render_sonic.h"

namespace mrc::fabric {
namespace {

// Empty name: this node has no such file.
RenderedFile render_node(const Topology& topology, const std::string& format, const NodeId& node) {
  const std::string name = node_name(node);
  if (format == "hosts")
    return node.role == Role::kHost ? RenderedFile{name, name + ".yaml", render_host(topology, node.index)}
                                    : RenderedFile{};
  if (format == "linux") {
    if (node.role == Role::kManagement) return {};
    return {name, name + ".sh", render_script(topology.spec(), node_config(topology, node))};
  }
  if (!is_switch(node)) return {};
  if (format == "frr") return {name, name + ".frr.conf", render_frr(topology.spec(), node_config(topology, node))};
  const SonicDb db = render_sonic(topology, node_config(topology, node));
  return {name, name + ".config_db.json", db.json(), db.explanation()};
}

}  // namespace

std::vector<RenderedFile> render_files(const Topology& topology, const std::string& format, const std::string& node) {
  if (format == "dot") return {{"", topology.spec().name + ".dot", render_dot(topology)}};
  if (!node.empty()) {
    const RenderedFile file = render_node(topology, format, topology.node(node));
    if (file.name.empty()) throw UsageError("node " + node + " has no file of the format '" + format + "'");
    return {file};
  }
  std::vector<RenderedFile> files;
  for (const NodeId& n : topology.nodes())
    if (RenderedFile f = render_node(topology, format, n); !f.name.empty()) files.push_back(std::move(f));
  return files;
}

void write_file(const std::string& path, const std::string& text) {
  std::error_code why;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), why);
  if (why) throw FabricError(path + ": " + why.message());
  write_text(path, text);
}

}  // namespace mrc::fabric
