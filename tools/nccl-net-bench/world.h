// The coordinator: starts the ranks of one job as processes of their own, joins their exchanges, collects their
// results, and ends them all, whatever happens: at the time limit, when one of them fails, and when the coordinator
// itself ends (PR_SET_PDEATHSIG). The coordinator never loads a plugin, so a plugin that crashes is reported, not
// suffered.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "channel.h"

namespace mrc::net_bench {

struct Environment {
  std::string preload;                                   // LD_PRELOAD of the ranks; empty: as inherited
  std::vector<std::pair<std::string, std::string>> set;  // added to the ranks' environment
  std::vector<std::string> launch;                       // command prefix of a rank's program; "{rank}" is its number
};

struct Outcome {
  std::vector<Json> results;  // by rank; null for a rank that was meant to die
  std::string error;          // empty: every rank delivered its result
  bool cannot_run = false;    // the error is about the plugin file or its ABI
};

// job["ranks"] processes run `job`; those listed in job["doomed"] may die by SIGKILL. `progress`: the ranks' messages.
Outcome run_world(const Json& job, const Environment& environment, std::chrono::duration<double> limit,
                  const std::function<void(const Json&)>& progress = {});

// The argument by which the program recognises that it is a rank; the number of the channel's descriptor follows.
inline constexpr char kRankArgument[] = "--as-rank-of-descriptor";

}  // namespace mrc::net_bench
