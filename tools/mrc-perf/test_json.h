// The test as JSON: what the client tells the server, and the report. Words are those of the command line; what
// is left to the program or to the device is absent.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "options.h"

namespace mrc::perf {

nlohmann::json test_to_json(const Options& o);

// Comes from whoever connected: throws PerfError for everything that the command line would have refused.
void test_from_json(const nlohmann::json& j, Options* o);

}  // namespace mrc::perf
