// Draws the timeline of an mrc-perf report as a self-contained SVG: throughput stacked by plane, planes in use,
// retransmissions, and the states of the paths (EVs), one panel below the other over a common time axis.
#pragma once

#include <string>
#include <vector>

namespace mrc::timeline {

struct Row {
  double t = 0;  // seconds, end of the interval
  double gbps = 0;
  std::vector<double> plane_gbps;
  double planes_in_use = 0, retransmits = 0, good = 0, skip = 0, assumed_bad = 0, denied = 0;
};

// A stretch of time to shade, with a label: the injected fault.
struct Mark {
  double from = 0, to = 0;
  std::string label;
};

std::string draw(const std::string& title, const std::vector<Row>& rows, const std::vector<Mark>& marks);

}  // namespace mrc::timeline
