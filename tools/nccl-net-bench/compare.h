// The measuring mode of the coordinator: tables, two plugins by turns, JSON.
#pragma once

#include "options.h"
#include "report_file.h"

namespace mrc::net_bench {

// Returns the exit code.
int run_measurements(const Options& options, tools::ReportFile* json);

void write_json(const Options& options, const Json& report, tools::ReportFile* json);

}  // namespace mrc::net_bench
