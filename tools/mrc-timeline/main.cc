// mrc-timeline REPORT.json PICTURE.svg [FROM TO LABEL]...: draws what `mrc-perf --timeline MS --json REPORT.json`
// recorded. FROM and TO, in seconds, shade a stretch of time; there may be several.
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plot.h"

namespace {

int run(int argc, char** argv) {
  if (argc < 3 || argc % 3 != 0) {
    std::fprintf(
        stderr,
        "usage: mrc-timeline REPORT.json PICTURE.svg [FROM TO LABEL]...\n"
        "Draws the timeline of a report made by: mrc-perf HOST --timeline 100 --json REPORT.json\n"
        "FROM and TO in seconds shade a stretch of time, for example an injected fault; several may follow.\n");
    return 2;
  }
  std::ifstream in(argv[1]);
  const auto report = nlohmann::json::parse(in, nullptr, false);
  if (!report.is_object() || !report.contains("timeline")) {
    std::fprintf(stderr,
                 "mrc-timeline: %s is no report with a timeline; make one with mrc-perf --timeline MS --json FILE\n",
                 argv[1]);
    return 1;
  }
  std::vector<mrc::timeline::Row> rows;
  for (const auto& r : report.at("timeline"))
    rows.push_back({r.at("t"), r.at("gbps"), r.at("plane_gbps"), r.at("planes_in_use"), r.at("retransmits"),
                    r.at("good"), r.at("skip"), r.at("assumed_bad"), r.at("denied")});
  std::vector<mrc::timeline::Mark> marks;
  for (int i = 3; i < argc; i += 3) marks.push_back({std::stod(argv[i]), std::stod(argv[i + 1]), argv[i + 2]});
  const std::string title = "mrc-perf, " + report.value("op", std::string("write")) + " on " +
                            report.value("device", std::string("mrc0")) + ": one transfer over " +
                            std::to_string(rows.empty() ? 0 : rows[0].plane_gbps.size()) + " planes";
  std::ofstream out(argv[2]);
  out << mrc::timeline::draw(title, rows, marks);
  out.close();
  if (!out) {
    std::fprintf(stderr, "mrc-timeline: cannot write %s\n", argv[2]);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrc-timeline: %s\n", e.what());
    return 1;
  }
}
