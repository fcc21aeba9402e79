// ChunkReceiver: the receiving half of a transfer. Plain writes arrive without its knowledge. Writes with immediate are
// counted, and with verification each finished chunk is compared and acknowledged to the sender by a credit: an 8-byte
// write of the number of chunks.
#pragma once

#include <string>
#include <vector>

#include "transfer_setup.h"

namespace mrc::perf {

struct Arrivals {
  uint64_t received = 0;  // messages known to have arrived: by completion or by check
  uint64_t checked = 0;
  uint64_t mismatches = 0;
  std::string first_mismatch;

  void note_mismatch(const std::string& what) {
    ++mismatches;
    if (first_mismatch.empty()) first_mismatch = what;
  }
};

class ChunkReceiver {
 public:
  explicit ChunkReceiver(const TransferSetup& setup);

  void restart() { arrivals_ = {}; }
  // Receives must be posted before the peer starts.
  void post_first();
  void received(uint32_t qp, uint32_t imm);
  void credit_completed(uint32_t qp);

  bool counts() const { return counts_; }  // of messages that arrive: it learns of them
  bool idle() const { return credits_in_flight_ == 0; }
  const Arrivals& arrivals() const { return arrivals_; }  // of this run

 private:
  struct Lane {                         // one queue pair
    uint64_t messages = 0, chunks = 0;  // arrived
    uint32_t credits_in_flight = 0;
    bool credit_pending = false;
    uint32_t slack = 0;  // receives to post again
  };

  void post(uint32_t qp, uint32_t count);
  void chunk_arrived(uint32_t qp);
  void give_credit(uint32_t qp);
  void verify_message(uint32_t qp, uint64_t message);

  const TransferSetup s_;
  const bool counts_;
  uint64_t credits_in_flight_ = 0;
  std::vector<Lane> lanes_;
  std::vector<ibv_recv_wr> wrs_;
  Arrivals arrivals_;
};

}  // namespace mrc::perf
