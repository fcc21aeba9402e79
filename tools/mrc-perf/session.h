// One meeting of client and server: agree on the test, connect, run each size, exchange results.
#pragma once

#include <nlohmann/json.hpp>

#include "device.h"
#include "oob.h"
#include "options.h"

namespace mrc::perf {

// Server: takes over the test of whoever has connected; throws PerfError, after telling the other side, when that is no
// client with a test that can be run. Client: tells its test.
void agree(Options* options, Oob& oob);

// The report (see report.h); "ok" tells whether all data was right on both sides. Throws PerfError, after telling the
// peer, when the run itself failed.
nlohmann::json run_session(const Options& options, const Device& device, Oob& oob);

}  // namespace mrc::perf
