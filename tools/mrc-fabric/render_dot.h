// The fabric as a drawing for Graphviz: T1s above T0s above hosts, a box and a colour per plane.
#pragma once

#include <string>

#include "topology.h"

namespace mrc::fabric {

std::string render_dot(const Topology& topology);

}  // namespace mrc::fabric
