// The coordinator of a preflight: `--hosts`. Tables, findings, the exit code for a job script.
#pragma once

#include "options.h"
#include "report_file.h"

namespace mrc::net_bench {

// 0: all is well; 1: a host, a pair or a path is bad, or a host cannot be reached; 2: the plugin cannot be used; 3:
// nothing is bad, but hosts differ in facts or clocks, or one is slow only while others send.
int run_preflight(const Options& options, tools::ReportFile* json);

}  // namespace mrc::net_bench
