// The measuring mode of the coordinator: tables, two plugins by turns, JSON.
#pragma once

#include <cstdio>
#include <string>

#include "options.h"
#include "report_file.h"

namespace mrc::net_bench {

// Returns the exit code.
int run_measurements(const Options& options, tools::ReportFile* json);

// The table's lines of one size, and what a rank has to know for a collective.
Json job_of(const Options& options, const std::string& library, int abi, const std::string& test);
void print_head(FILE* out, const Options& options, const std::string& test, const Json& about);
void print_line(FILE* out, const Json& result, const std::string& test);
// For tables: JSON on standard output stays alone.
FILE* table(const Options& options);

void write_json(const Options& options, const Json& report, tools::ReportFile* json);

}  // namespace mrc::net_bench
