// QpSample: what a software device reports of a queue pair and of the paths to its peer (mrc_soft_query_qp_stats), as
// numbers. For diagnosis: a sample allocates and takes the device's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "latency_histogram.h"

namespace mrc::nccl {

struct EvSample {
  uint32_t ev = 0;
  int plane = 0;  // from 1
  std::string state;
  uint64_t tx = 0, losses = 0, marks = 0;  // of all queue pairs to that peer; marks: ECN
};

struct QpSample {
  uint32_t qpn = 0, dest_qpn = 0;
  int64_t cwnd = 0, inflight = 0;  // bytes; of older libraries inflight may be a little below 0
  uint64_t outstanding = 0;        // packets sent and not acknowledged
  uint64_t tx = 0, retransmits = 0, timeouts = 0;
  std::vector<EvSample> evs;
  // Of packets that were sent again, from the first transmission to the acknowledgement: how many took at most so many
  // ns, and longer than those before [MRC-LAT-2].
  struct Delays {
    uint64_t ns = 0, packets = 0;
  };
  std::vector<Delays> retransmission_delays;
  uint64_t retransmission_delay_max = 0;  // ns

  // Packets that the peer has acknowledged, ever.
  uint64_t acknowledged() const { return tx - retransmits - outstanding; }
  // The device counts by quarters of an octave, so a quantile of `to` is at most a quarter too large.
  void add_delays(LatencyHistogram* to) const;
};

// Lines that are not known are skipped.
QpSample parse_qp_stats(const std::string& text);

}  // namespace mrc::nccl
