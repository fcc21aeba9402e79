// The test as JSON: from the client to the server, and in the report. Words are those of the command line; what
// is left to the program or to the device is absent.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "options.h"

namespace mrc::perf {

nlohmann::json test_to_json(const Options& o);

// Received from any peer: throws PerfError for everything that the command line would refuse.
void test_from_json(const nlohmann::json& j, Options* o);

}  // namespace mrc::perf
