// A rank's part of a preflight: its host's facts, its pairs in rounds, and the collective over all hosts.
#pragma once

#include "rank.h"

namespace mrc::net_bench {

// Progress: {"facts", "rank"}, {"pair"} and {"again"} (a pair's speeds), and the lines of the collective.
Json run_host_checks(Rank& rank);

}  // namespace mrc::net_bench
