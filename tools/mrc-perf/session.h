// One meeting of client and server: agree on the test, connect, run each size, exchange results.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device.h"
#include "oob.h"
#include "options.h"

namespace mrc::perf {

// Server: receives the test of the connected client; throws PerfError, after a message to the other side, when that is
// no client with a test that can be run. Client: sends its test. Returns what names this session to both sides.
std::string agree(Options* options, Oob& oob);

// Adds to the report (see report.h); "ok" is true when all data was correct on both sides. Throws PerfError, after a
// message to the peer, when the run itself failed; the report then has what was measured until then.
// `channels`: the first connection, and one more for each thread but the first.
void run_session(const Options& options, const Device& device, std::vector<Oob*> channels, nlohmann::json* report);

}  // namespace mrc::perf
