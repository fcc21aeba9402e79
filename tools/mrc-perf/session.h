// One meeting of client and server: agree on the test, connect, run each size, exchange results.
#pragma once

#include <nlohmann/json.hpp>

#include "oob.h"
#include "options.h"

namespace mrc::perf {

// The report (see report.h); "ok" tells whether all data was right on both sides. Throws PerfError, after telling the
// peer, when the run itself failed.
nlohmann::json run_session(Options options, Oob& oob);

}  // namespace mrc::perf
