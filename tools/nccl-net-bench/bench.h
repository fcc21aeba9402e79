// The measuring job of one rank.
#pragma once

#include "rank.h"

namespace mrc::net_bench {

// Runs the job's collective over its sizes; rank 0 reports each size as progress. Returns what is known at the end.
Json run_bench(Rank& rank);
// The same of a rank that has opened its plugin, and leaves it open.
void run_collective(Rank& rank);

}  // namespace mrc::net_bench
