// Summary of a trace: decisions by number and reason, statistics of each path, ranges of the windows.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "log.h"

namespace mrc::log {

struct PathSummary {
  uint64_t sent = 0, retransmitted = 0, lost = 0, chosen = 0, state_changes = 0;
  std::string state;  // the last one reported; empty: never changed
};

struct WindowSummary {
  uint64_t updates = 0, min = UINT64_MAX, max = 0;
  double sum = 0;
  std::map<std::string, uint64_t> branches;  // of NSCC
};

struct Summary {
  std::string path;
  double seconds = 0;
  uint64_t lost = 0, damaged = 0;
  std::map<std::pair<std::string, std::string>, uint64_t> counts;  // (event, trigger)
  std::map<std::pair<uint64_t, uint64_t>, PathSummary> paths;      // by plane and EV
  std::map<uint64_t, WindowSummary> windows;                       // by QPN
  std::vector<int64_t> rtts_ns;                                    // sorted

  uint64_t of(const std::string& event) const;
  double rtt_us(double share) const;  // percentile; 0 without samples
};

Summary summarise(const Log& log);
nlohmann::json to_json(const Summary& s);
std::string to_text(const Summary& s);

}  // namespace mrc::log
