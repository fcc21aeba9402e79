// The HTML report: one file, inline SVG, no script, no network. For one run: throughput per plane with fault marks,
// completion times, queues, EV states, the fabric's links by what they lost. For several: a sentence, a picture,
// comparison tables and, where one number was swept, curves over it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/helper/sweep.h"

namespace mrc::sim {

std::string run_report(const ScenarioSpec& scenario, const std::string& label, const RunResult& result);
std::string sweep_report(const ScenarioFile& file, const std::vector<Json>& summaries,
                         const std::vector<CheckResult>& checks, const std::string& sentence,
                         const std::string& picture);
// Charts that also become files: of one run, throughput per plane; of a sweep, one per column of the table and swept
// number. (name, SVG)
std::vector<std::pair<std::string, std::string>> sweep_curves(const ScenarioFile& file,
                                                              const std::vector<Json>& summaries);
std::string throughput_chart(const RunResult& result);
// "1 fault", "2 faults"
std::string plural(uint64_t n, const char* one, const char* many);
// The unfinished work of a run, as text; empty if there is none.
std::string unfinished_text(const Json& summary);
// Two sets of points beside each other, for `compare`.
std::string compare_table(const std::vector<std::pair<std::string, Json>>& a,
                          const std::vector<std::pair<std::string, Json>>& b, bool html);

// Column titles and the values of a summary that a table shows.
struct TableColumn {
  std::string title;
  std::string metric;
};
std::vector<TableColumn> table_columns(const std::vector<Json>& summaries);
std::string table_value(const Json& summary, const TableColumn& column);

}  // namespace mrc::sim
