// Reads the text of mrc_soft_query_stats and mrc_soft_query_qp_stats into something to compute with.
#pragma once

#include <mrc_soft.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mrc::perf {

struct EvLine {
  uint32_t value = 0;
  uint32_t plane = 0;
  std::string state;
  bool active = false;
  uint64_t tx = 0, loss = 0, ecn = 0;
};

struct Snapshot {
  std::map<std::string, uint64_t> counters;
  std::vector<std::map<std::string, uint64_t>> planes;  // in the order the library numbers them
  uint64_t counter(const std::string& name) const;
  uint64_t plane(size_t index, const std::string& name) const;
};

struct QpSnapshot {
  std::map<std::string, int64_t> values;  // cwnd, srtt_ns, ...
  std::vector<EvLine> evs;
  // EVs in a state: in use (active) for GOOD and SKIP, all of them for ASSUMED_BAD and DENIED, which are never in use.
  uint32_t count(const std::string& state) const;
};

Snapshot read_device_stats(ibv_context* context);
QpSnapshot read_qp_stats(mrc_qp* qp);  // empty for null

}  // namespace mrc::perf
