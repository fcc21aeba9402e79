// The bandwidth and rate loop, of either side and either direction.
//
// Sending: chunks of messages are posted as one list, the last one signalled, round robin over the queue pairs, while a
// window of chunks per queue pair is not full. Receiving: nothing to do for plain writes, completions for writes with
// immediate. With verification the receiver learns of each finished chunk (by an empty write with immediate where the
// operation itself carries none), compares every message, and returns credit by an 8-byte write; the sender
// overwrites a slot only after its credit arrived. When a side has sent all, it reports that over TCP; the loop ends
// when both are done. Further runs over the same queue pairs continue the numbering of messages.
#pragma once

#include <string>
#include <vector>

#include "connection.h"
#include "monitor.h"
#include "pattern.h"

namespace mrc::perf {

struct TransferResult {
  uint64_t sent = 0;      // messages completed
  double send_s = 0;      // from the first post to the last completion
  double receive_s = 0;   // datagrams: from there to the last arrival
  double cpu_s = 0;       // of the whole process, all its threads
  uint64_t received = 0;  // messages known to have arrived: by completion or by check
  uint64_t checked = 0;
  uint64_t mismatches = 0;
  std::string first_mismatch;
};

struct TransferSetup {
  const Options& options;
  const Plan& plan;
  const Connection& connection;
  const Pattern& pattern;
  const Memory& source;  // the pattern, registered
  const Memory& buffer;
  Oob& oob;
  Monitor& monitor;
  bool client;
};

class Transfer {
 public:
  explicit Transfer(const TransferSetup& setup);
  // Receives must be posted before the peer starts: called before the barrier.
  void post_first_receives();
  TransferResult run(double seconds);  // 0: all messages of the options

 private:
  struct Lane {                                   // one queue pair
    uint64_t posted = 0, done = 0;                // chunks sent
    uint64_t recv_messages = 0, recv_chunks = 0;  // arrived
    uint32_t credits_in_flight = 0;
    bool credit_owed = false;
    uint32_t recv_slack = 0;  // receives to post again
  };

  void start_run(double seconds);
  bool may_post(uint32_t qp) const;
  void post_chunk(uint32_t qp);
  bool post_round();
  void post_receives(uint32_t qp, uint32_t count);
  bool handle(const ibv_wc& wc);
  void received(uint32_t qp, uint32_t imm);
  void chunk_arrived(uint32_t qp);
  void give_credit(uint32_t qp);
  void verify_message(uint32_t qp, uint64_t message);
  void tick(Clock::time_point now);
  void check_drain(Clock::time_point now);  // throws when the rest takes too long
  void send_done();
  bool finished() const;
  uint64_t progress_bytes() const;

  const TransferSetup s_;
  const bool sender_, receiver_, counts_receives_;
  bool stop_ = false, done_sent_ = false, peer_done_ = false;
  uint64_t target_chunks_ = 0;  // per queue pair; UINT64_MAX: until the deadline
  uint64_t chunks_in_flight_ = 0, sends_in_flight_ = 0, sent_messages_ = 0;
  uint64_t peer_sent_ = 0;  // messages sent by the peer, as reported
  uint32_t next_qp_ = 0;
  uint64_t idle_ = 0;
  Clock::time_point begin_, deadline_, next_look_, last_done_, gone_since_;
  Clock::time_point drain_begin_, drain_moved_;
  uint64_t drain_done_ = 0;
  bool gone_ = false;
  std::vector<Lane> lanes_;
  std::vector<ibv_send_wr> wrs_;
  std::vector<ibv_sge> sges_;
  std::vector<ibv_recv_wr> recv_wrs_;
  TransferResult result_;
};

// Meaning of a failed completion and the remedy; for all tests.
[[noreturn]] void throw_failed(const ibv_wc& wc);

}  // namespace mrc::perf
