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

#include "report_interval.h"

namespace mrc::perf {

using Clock = std::chrono::steady_clock;

struct TimelineRow {
  double at_s = 0;  // end of the interval
  double gbps = 0;
  uint32_t planes_in_use = 0;
  std::vector<double> plane_gbps;
  uint64_t retransmits = 0;  // in the interval, by this side
  uint64_t needless = 0;     // copies, earlier ones too, that this side learned in the interval to be needless
  uint32_t good = 0, skip = 0, assumed_bad = 0, denied = 0;
};

class Monitor {
 public:
  // Milliseconds of a row of the timeline, and of a printed line of it; 0: none.
  struct Timeline {
    uint32_t row_ms = 0, line_ms = 0;
  };
  // `message`: bytes of one message.
  Monitor(ibv_context* context, mrc_qp* qp, uint64_t message, bool live, const Timeline& timeline, std::FILE* out);

  void start(Clock::time_point now);
  // `bytes`: payload done so far, both directions.
  void tick(Clock::time_point now, uint64_t bytes) {
    if (now >= next_) due(now, bytes);
  }
  const std::vector<TimelineRow>& timeline() const { return rows_; }

 private:
  void due(Clock::time_point now, uint64_t bytes);
  void live_line(Clock::time_point now, const Snapshot& stats, uint64_t bytes);
  void timeline_line(Clock::time_point now, const Snapshot& stats, uint64_t bytes);
  TimelineRow row_since(const ReportInterval& last, Clock::time_point now, const Snapshot& stats, uint64_t bytes) const;

  ibv_context* const context_;
  mrc_qp* const qp_;
  const uint64_t message_;
  const std::chrono::milliseconds live_length_, row_length_, line_length_;  // 0: none
  std::FILE* const out_;
  Clock::time_point begin_, next_;
  ReportInterval live_, row_, line_;
  std::vector<TimelineRow> rows_;
};

nlohmann::json timeline_to_json(const std::vector<TimelineRow>& rows);

}  // namespace mrc::perf
