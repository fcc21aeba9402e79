// The bandwidth and rate loop, of either side and either direction: posts what it may (chunk_sender.h), handles what
// completes and arrives (chunk_receiver.h). When a side has sent all, it reports that over TCP; the loop ends when both
// are done. Further runs over the same queue pairs continue the numbering of messages.
#pragma once

#include <optional>

#include "chunk_receiver.h"
#include "chunk_sender.h"
#include "drain.h"
#include "end_of_run.h"
#include "run_time.h"
#include "transfer_setup.h"

namespace mrc::perf {

struct TransferResult : Arrivals {
  uint64_t sent = 0;     // messages completed
  double send_s = 0;     // from the first post to the last completion
  double receive_s = 0;  // datagrams: from there to the last arrival
  double cpu_s = 0;      // of the whole process, all its threads
};

class Transfer {
 public:
  explicit Transfer(const TransferSetup& setup);
  // Receives must be posted before the peer starts: called before the barrier.
  void post_first_receives() { in_.post_first(); }
  TransferResult run(double seconds);  // 0: all messages of the options
  TransferResult so_far() const;       // what a run that has failed had done

 private:
  void start_run(double seconds);
  bool handle(const ibv_wc& wc);
  void tick(Clock::time_point now);
  void check_drain(Clock::time_point now);  // throws when the rest takes too long
  void send_done();
  bool finished() const;
  uint64_t progress_bytes() const;

  const TransferSetup s_;
  const bool sender_;
  ChunkSender out_;
  ChunkReceiver in_;
  RunTime time_;
  EndOfRun end_;
  Drain drain_;
  std::optional<Clock::time_point> gone_since_;  // the peer's process, while something of it is missing
  Clock::time_point last_done_;                  // completion of a chunk; without any to send, of anything
  double cpu_before_ = 0;
  TransferResult result_;
};

// Meaning of a failed completion and the remedy; for all tests.
[[noreturn]] void throw_failed(const ibv_wc& wc);

}  // namespace mrc::perf
