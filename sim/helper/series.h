// Series: a run over time, one row per interval, and the state of every EV of a few sampled pairs.
// Written as CSV and drawn in the report.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/helper/network.h"

namespace mrc::sim {

struct Row {
  Ps at = 0;                                                       // end of the interval
  std::vector<double> plane_gbps;                                  // payload received by all NICs per plane
  uint64_t retransmits = 0, trimmed = 0, dropped = 0, marked = 0;  // in the interval
  std::array<int64_t, 3> peak_queue{};                             // bytes: T0 to NIC, T0 to T1, T1 to T0
  uint32_t bad_evs = 0;                                            // of the sampled pairs
  std::vector<double> receivers_gbps;                              // per job: payload that its receivers accepted
};

// Share of ASSUMED_BAD among the sampled pairs' EVs, per plane and T1, per interval; -1: no EV.
struct EvMap {
  std::vector<std::string> rows;
  std::vector<std::vector<float>> columns;
};

class Sampler {
 public:
  // `receivers`: the NICs of each job.
  Sampler(Network* network, Ps interval, std::vector<std::set<uint32_t>> receivers)
      : net_(*network), interval_(interval), receivers_(std::move(receivers)) {}
  void watch(uint32_t src, uint32_t dst);  // a pair whose EVs are sampled; the first few are kept
  void start();
  void stop() { stopped_ = true; }
  const std::vector<Row>& rows() const { return rows_; }
  const EvMap& ev_map() const { return ev_map_; }

 private:
  void sample();
  void sample_evs(Row* row);

  Network& net_;
  const Ps interval_;
  const std::vector<std::set<uint32_t>> receivers_;
  bool stopped_ = false;
  std::vector<uint64_t> plane_bytes_, job_bytes_;
  uint64_t retransmits_ = 0, trimmed_ = 0, dropped_ = 0, marked_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;
  std::vector<Row> rows_;
  EvMap ev_map_;
  Recurring<Sampler, &Sampler::sample> event_{this};
};

// Sums over the whole network.
struct PortTotals {
  uint64_t trimmed = 0, queue_drops = 0, marked = 0, lost = 0, lost_down = 0, stuck = 0, unroutable = 0, pauses = 0;
};
PortTotals port_totals(Network& network);

}  // namespace mrc::sim
