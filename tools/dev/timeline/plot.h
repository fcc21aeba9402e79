// Draws the timeline of an mrc-perf report as a self-contained SVG: throughput stacked by plane, planes in use,
// retransmissions, and the states of the paths (EVs), one panel below the other over a common time axis. draw_panels()
// draws other figures in the same way.
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

// What was measured from `from` to `to`, seconds.
struct Step {
  double from = 0, to = 0, value = 0;
};
struct Panel {
  std::string title;
  std::vector<Step> steps;
};

// Panels of one scale, for comparison.
std::string draw_panels(const std::string& title, const std::vector<Panel>& panels, const std::vector<Mark>& marks);

std::string draw(const std::string& title, const std::vector<Row>& rows, const std::vector<Mark>& marks);

}  // namespace mrc::timeline
