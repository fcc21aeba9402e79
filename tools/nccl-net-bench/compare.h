// The measuring mode of the coordinator: tables, two plugins by turns, JSON.
#pragma once

#include "options.h"

namespace mrc::net_bench {

// Returns the exit code.
int run_measurements(const Options& options);

// To a file, or to standard output for "-".
void write_json(const std::string& where, const Json& report);

}  // namespace mrc::net_bench
