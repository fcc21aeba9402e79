// The output during a run: a line per second and, on request, the timeline. Called from the measuring loop,
// which passes the time and how far it is; reads statistics only when a line is due.
#pragma once

#include <mrc_soft.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stats.h"

namespace mrc::perf {

using Clock = std::chrono::steady_clock;

struct TimelineRow {
  double at_s = 0;  // end of the interval
  double gbps = 0;
  uint32_t planes_in_use = 0;
  std::vector<double> plane_gbps;
  uint64_t retransmits = 0, needless = 0;  // in the interval; needless: as far as the sender has learned
  uint32_t good = 0, skip = 0, assumed_bad = 0, denied = 0;
};

class Monitor {
 public:
  // `message`: bytes of one message.
  Monitor(ibv_context* context, mrc_qp* qp, uint64_t message, bool live, uint32_t timeline_ms, std::FILE* out);

  void start(Clock::time_point now);
  // `bytes`: payload done so far, both directions.
  void tick(Clock::time_point now, uint64_t bytes) {
    if (now >= next_) due(now, bytes);
  }
  const std::vector<TimelineRow>& timeline() const { return rows_; }

 private:
  void due(Clock::time_point now, uint64_t bytes);
  void live_line(Clock::time_point now, uint64_t bytes);
  void timeline_row(Clock::time_point now, uint64_t bytes);

  ibv_context* context_;
  mrc_qp* qp_;
  uint64_t message_;
  bool live_;
  std::chrono::milliseconds interval_;
  std::FILE* out_;
  Clock::time_point begin_, next_, next_live_, next_row_, last_live_, last_row_;
  uint64_t live_bytes_ = 0, row_bytes_ = 0;
  Snapshot live_stats_, row_stats_;
  std::vector<TimelineRow> rows_;
};

nlohmann::json timeline_to_json(const std::vector<TimelineRow>& rows);

}  // namespace mrc::perf
