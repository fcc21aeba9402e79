// The conformance mode: a rank's side, and the coordinator's loop over cases and ABI versions.
#pragma once

#include "options.h"
#include "rank.h"
#include "report_file.h"

namespace mrc::net_bench {

Json run_case(Rank& rank);

// Prints one line for each case; returns the exit code.
int run_conformance(const Options& options, tools::ReportFile* json);

}  // namespace mrc::net_bench
