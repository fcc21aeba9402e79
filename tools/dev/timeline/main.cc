// mrc-timeline: draws what `mrc-perf --timeline MS --json REPORT.json` recorded, or panels of steps:
// {"title": ..., "panels": [{"title": ..., "steps": [[from, to, value], ...]}, ...]}, times in seconds.
// Exit status 0: drawn, 1: not a report, or the picture cannot be written, 2: bad command line.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "command_line.h"
#include "plot.h"
#include "text_file.h"

namespace {

constexpr size_t kMaxReport = size_t{256} << 20;

int write(const std::string& picture, const std::string& svg) {
  std::ofstream out(picture);
  out << svg;
  out.close();
  if (out) return 0;
  std::fprintf(stderr, "mrc-timeline: cannot write %s: %s\n", picture.c_str(), std::strerror(errno));
  return 1;
}

std::string panels_of(const nlohmann::json& report, const std::vector<mrc::timeline::Mark>& marks) {
  std::vector<mrc::timeline::Panel> panels;
  for (const auto& panel : report.at("panels")) {
    panels.push_back({panel.at("title"), {}});
    for (const auto& step : panel.at("steps")) panels.back().steps.push_back({step.at(0), step.at(1), step.at(2)});
  }
  return mrc::timeline::draw_panels(report.at("title"), panels, marks);
}

int run(int argc, char** argv) {
  CLI::App app("Draws the timeline of a report made by: mrc-perf HOST --timeline 100 --json REPORT.json",
               "mrc-timeline");
  std::string file, picture;
  std::vector<std::tuple<double, double, std::string>> shaded;
  app.add_option("REPORT.json", file, "The report")->required();
  app.add_option("PICTURE.svg", picture, "The picture to write")->required();
  app.add_option("FROM TO LABEL", shaded,
                 "Shades a stretch of time, in seconds, for example an injected fault; several may follow");
  if (const auto status = mrc::support::parse_command_line(&app, "mrc-timeline", argc, argv)) return *status;
  const mrc::Result<std::string> text = mrc::read_text_file(file, kMaxReport);
  if (!text) {
    std::fprintf(stderr, "mrc-timeline: cannot read %s: %s\n", file.c_str(), text.error().text.c_str());
    return 1;
  }
  const auto report = nlohmann::json::parse(*text, nullptr, false);
  std::vector<mrc::timeline::Mark> marks;
  for (const auto& [from, to, label] : shaded) marks.push_back({from, to, label});
  if (report.is_object() && report.contains("panels")) return write(picture, panels_of(report, marks));
  if (!report.is_object() || !report.contains("timeline")) {
    std::fprintf(stderr,
                 "mrc-timeline: %s is no report with a timeline; make one with mrc-perf --timeline MS --json FILE\n",
                 file.c_str());
    return 1;
  }
  std::vector<mrc::timeline::Row> rows;
  for (const auto& r : report.at("timeline"))
    rows.push_back({r.at("t"), r.at("gbps"), r.at("plane_gbps"), r.at("planes_in_use"), r.at("retransmits"),
                    r.at("good"), r.at("skip"), r.at("assumed_bad"), r.at("denied")});
  const std::string title = "mrc-perf, " + report.value("op", std::string("write")) + " on " +
                            report.value("device", std::string("mrc0")) + ": one transfer over " +
                            std::to_string(rows.empty() ? 0 : rows[0].plane_gbps.size()) + " planes";
  return write(picture, mrc::timeline::draw(title, rows, marks));
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
