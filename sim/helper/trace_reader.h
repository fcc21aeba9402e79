// The file of a `trace` workload: CSV of time_us,src,dst,bytes[,id[,after]], a message per line. `after` has ids of
// earlier lines, separated by spaces, so that no circle is possible; each may end with ":sent" or ":received". The time
// to read grows with the size of the file alone.
#pragma once

#include <string>
#include <vector>

#include "sim/helper/workload.h"

namespace mrc::sim {

struct TraceMessage {
  Ps at = 0;
  uint32_t src = 0, dst = 0;
  uint64_t bytes = 0;
  std::vector<Successor> after;  // `op`: index of the earlier message
};

// `when_sent`: of references without an ending. Throws ConfigError with file and line.
std::vector<TraceMessage> read_trace(const std::string& path, uint32_t nics, bool when_sent);

}  // namespace mrc::sim
