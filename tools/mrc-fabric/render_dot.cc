#include "render_dot.h"

#include <sstream>

#include "node_config.h"

namespace mrc::fabric {
namespace {

// Distinct for colour-blind readers, too; planes beyond eight begin again.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#000000", "#999933"};

const char* colour(uint32_t plane) {
  return kColours[plane % (sizeof kColours / sizeof kColours[0])];
}

std::string hex(uint16_t usid) {
  std::ostringstream out;
  out << std::hex << usid;
  return out.str();
}

void draw_tier(const Topology& topology, Role role, uint32_t plane, std::ostringstream* out) {
  *out << "    {rank=same;";
  for (const NodeId& n : topology.nodes())
    if (n.role == role && n.plane == plane)
      *out << " \"" << node_name(n) << "\" [label=\"" << node_name(n) << "\\n"
           << hex(topology.plan().usid(plane, role == Role::kT0 ? sim::Tier::kT0 : sim::Tier::kT1, n.index)) << "\"];";
  *out << "}\n";
}

}  // namespace

std::string render_dot(const Topology& topology) {
  const FabricSpec& f = topology.spec();
  std::ostringstream out;
  out << "graph \"" << f.name << "\" {\n  rankdir=TB; ranksep=1.2; node [shape=box, fontname=sans, fontsize=10];\n";
  for (uint32_t p = 0; p < f.planes; ++p) {
    out << "  subgraph cluster_p" << p << " {\n    label=\"plane " << p << "\"; color=\"" << colour(p)
        << "\"; fontcolor=\"" << colour(p) << "\"; fontname=sans;\n";
    draw_tier(topology, Role::kT1, p, &out);
    draw_tier(topology, Role::kT0, p, &out);
    out << "  }\n";
  }
  out << "  {rank=same;";
  for (uint32_t n = 0; n < f.nics(); ++n) out << " h" << n << " [shape=ellipse];";
  out << "}\n";
  for (const Link& l : topology.links()) {
    if (l.is_management()) continue;
    // From above, so that T1s are on top.
    out << "  \"" << node_name(l.upper.node) << "\" -- \"" << node_name(l.lower.node) << "\" [color=\""
        << colour(l.upper.node.plane) << "\", tooltip=\"" << port_name(l.lower) << " - " << port_name(l.upper) << " "
        << sim::format_rate(l.rate) << "\"];\n";
  }
  out << "}\n";
  return out.str();
}

}  // namespace mrc::fabric
