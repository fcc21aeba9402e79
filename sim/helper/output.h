// The output directory of a run or sweep:
//
//     scenario.yaml  summary.json  report.html              of the whole file; summary.json holds version and checks
//     points/000/    resolved.yaml summary.json report.html series.csv messages.csv links.csv faults.csv
//                    ev_states.csv throughput.svg
//                    [baseline.svg: of a run with faults, over that without] [trace/nic-NNNN.sqlog]
//
// Nothing in it depends on the machine or on the hour. Files are written under another name and renamed, so a directory
// written by several processes contains only complete files. A directory may be used again: running a point
// first removes the files of an earlier run of it, and a point counts only if it was made from the file's present
// content.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/helper/sweep.h"

namespace mrc::sim {

class Output {
 public:
  explicit Output(std::string folder) : folder_(std::move(folder)) {}

  // `mine`: the points that this process is going to run; those of others may be complete already. Throws ConfigError
  // when the folder cannot be made.
  void begin(const ScenarioFile& file, const std::vector<size_t>& mine);
  std::string point_folder(size_t index) const;
  void write_point(const ScenarioFile& file, size_t index, const RunResult& result);
  bool has_point(const ScenarioFile& file, size_t index) const;
  // When every point is there: checks, summary and report of the whole. Empty when some are missing.
  std::optional<std::vector<CheckResult>> gather(const ScenarioFile& file);
  const std::string& sentence() const { return sentence_; }  // that opens the report; after gather

 private:
  std::string folder_, sentence_;
};

// Label and summary of every point of an output directory.
std::vector<std::pair<std::string, Json>> read_points(const std::string& folder);
void write_file(const std::string& path, const std::string& text);  // by rename; throws ConfigError

}  // namespace mrc::sim
