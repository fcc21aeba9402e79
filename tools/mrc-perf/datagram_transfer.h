// The bandwidth and rate loop over datagrams. Nothing holds a sender back but its own send queue, so what arrives is
// counted at the receiver, and the figures are those of what arrived. The number of the message travels as immediate.
// When a side has sent all, it reports that over TCP; the other one then waits until all has arrived, or nothing more
// does. With verification every message that arrives is compared; further runs continue the numbering.
#pragma once

#include <vector>

#include "datagram_latency.h"
#include "monitor.h"
#include "pattern.h"
#include "transfer.h"

namespace mrc::perf {

class DatagramTransfer {
 public:
  DatagramTransfer(const DatagramSetup& setup, const Pattern& pattern, Monitor& monitor);
  TransferResult run(double seconds);  // 0: all messages of the options

 private:
  struct Lane {                          // one queue pair
    uint64_t posted = 0, completed = 0;  // chunks
  };

  void start_run(double seconds);
  bool may_post(const Lane& lane) const;
  void post_chunk(uint32_t qp);
  bool post_round();
  bool all_posted() const;
  void poll();
  void on_arrival(const ibv_wc& wc);
  void tick();
  void hear_peer();
  void send_done();
  bool finished() const;

  const DatagramSetup s_;
  const Pattern& pattern_;
  Monitor& monitor_;
  const bool sender_, receiver_;
  bool stop_ = false, done_sent_ = false, peer_done_ = false;
  uint64_t target_chunks_ = 0;  // of each queue pair in all runs; UINT64_MAX: until the deadline
  uint64_t in_flight_ = 0;      // chunks
  uint64_t peer_sent_ = 0;      // messages sent by the peer, as reported
  uint32_t next_qp_ = 0;
  Clock::time_point begin_, deadline_, now_, next_look_, last_left_, last_arrival_, quiet_from_;
  std::vector<Lane> lanes_;
  std::vector<ibv_send_wr> wrs_;
  std::vector<ibv_sge> sges_;
  TransferResult result_;
};

}  // namespace mrc::perf
