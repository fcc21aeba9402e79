// The bandwidth and rate loop over datagrams. Nothing holds a sender back but its own send queue, so what arrives is
// counted at the receiver, and the figures are those of what arrived. The number of the message travels as immediate.
// When a side has sent all, it reports that over TCP; the other one then waits until all has arrived, or nothing more
// does. With verification every message that arrives is compared; further runs continue the numbering.
#pragma once

#include <vector>

#include "chunk_schedule.h"
#include "datagram_latency.h"
#include "end_of_run.h"
#include "monitor.h"
#include "pattern.h"
#include "run_time.h"
#include "transfer.h"

namespace mrc::perf {

class DatagramTransfer {
 public:
  DatagramTransfer(const DatagramSetup& setup, const Pattern& pattern, Monitor& monitor);
  TransferResult run(double seconds);  // 0: all messages of the options
  TransferResult so_far() const;       // what a run that has failed had done

 private:
  void start_run(double seconds);
  void post_chunk(uint32_t qp);
  void poll();
  void on_arrival(const ibv_wc& wc);
  void tick();
  void send_done();
  bool finished() const;

  const DatagramSetup s_;
  const Pattern& pattern_;
  Monitor& monitor_;
  const bool sender_, receiver_;
  ChunkSchedule schedule_;
  RunTime time_;
  EndOfRun end_;
  Clock::time_point now_, last_left_, last_arrival_;
  std::vector<ibv_send_wr> wrs_;
  std::vector<ibv_sge> sges_;
  TransferResult result_;
  double cpu_before_ = 0;
};

}  // namespace mrc::perf
