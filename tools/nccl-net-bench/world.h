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
  std::vector<std::string> hosts;                        // rank r runs on hosts[r], "{host}" in `launch`; empty: here
  std::string program;                                   // this program's path on those hosts; empty: as here
};

using Progress = std::function<void(size_t rank, const Json& data)>;

struct Outcome {
  std::vector<Json> results;  // by rank; null for a rank that was meant to die
  int died = -1;              // the rank whose end is the error
  std::string error;          // empty: every rank delivered its result
  bool cannot_run = false;    // the error is about the plugin file or its ABI
};

// job["ranks"] processes run `job`; those listed in job["doomed"] may die by SIGKILL. `progress`: a rank's messages,
// which on another host anything may have written: an exception of the JSON library drops the message.
Outcome run_world(const Json& job, const Environment& environment, std::chrono::duration<double> limit,
                  const Progress& progress = {});

// The argument by which the program recognises that it is a rank; the number of the channel's descriptor follows, or
// kStandard: the channel is standard input and output, which are all that ssh and its like carry.
inline constexpr char kRankArgument[] = "--as-rank-of-descriptor";
inline constexpr char kStandard[] = "standard";

}  // namespace mrc::net_bench
