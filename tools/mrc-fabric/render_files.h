// `mrc-fabric render`: the fabric's configuration as files.
#pragma once

#include <string>
#include <vector>

#include "topology.h"

namespace mrc::fabric {

struct RenderedFile {
  std::string node, name, text;  // node: empty for the whole fabric
  // A line of reason for each value, where the format has no comments: the file NAME.txt beside it. Else empty.
  std::string explanation{};
};

// `format`: linux, frr, sonic, hosts, dot. `node`: only that one; empty: all that have such a file.
std::vector<RenderedFile> render_files(const Topology& topology, const std::string& format, const std::string& node);
void write_file(const std::string& path, const std::string& text);  // makes folders; throws FabricError

}  // namespace mrc::fabric
