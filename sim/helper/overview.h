// The opening of the overview page: one sentence and one picture, made from the summaries and series of the points.
// With a baseline, the point that its faults cost most; else the range over the points.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/helper/sweep.h"

namespace mrc::sim {

constexpr const char* kReceiversColumn = "_receivers_gbps";  // behind a job's name in series.csv

// What the picture of a run needs of its files.
struct PointSeries {
  std::vector<std::pair<double, double>> gbps;  // payload received by all NICs: us, Gb/s
  std::map<std::string, std::vector<std::pair<double, double>>> receivers_gbps;  // by job
  std::vector<std::pair<double, std::string>> marks;                             // of faults: us, text
};
PointSeries parse_series(const std::string& series_csv, const std::string& faults_csv);

using SeriesReader = std::function<PointSeries(size_t index)>;

std::string overview_sentence(const ScenarioFile& file, const std::vector<Json>& summaries);
std::string overview_picture(const ScenarioFile& file, const std::vector<Json>& summaries, const SeriesReader& read);
// A run with faults over its baseline. (SVG)
std::string baseline_chart(const std::string& title, const PointSeries& healthy, const PointSeries& faulty);

}  // namespace mrc::sim
