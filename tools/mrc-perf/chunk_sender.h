// ChunkSender: the sending half of a transfer. Chunks of messages are posted as one list, the last one signalled. With
// verification an empty write with immediate ends a chunk of plain writes, and a chunk waits for the receiver's credit:
// a slot is overwritten only after it was compared.
#pragma once

#include <vector>

#include "chunk_schedule.h"
#include "transfer_setup.h"

namespace mrc::perf {

class ChunkSender {
 public:
  explicit ChunkSender(const TransferSetup& setup);

  void restart() { sent_ = 0; }
  // True: something was posted.
  bool post_round();
  void completed(uint32_t qp);

  uint64_t in_flight() const { return schedule_.in_flight(); }  // chunks
  uint64_t sent() const { return sent_; }                       // messages completed in this run
  bool all_posted() const { return schedule_.all_posted(); }

 private:
  bool has_credit(uint32_t qp) const;
  void post_chunk(uint32_t qp);

  const TransferSetup s_;
  ChunkSchedule schedule_;
  uint64_t sent_ = 0;
  std::vector<ibv_send_wr> wrs_;
  std::vector<ibv_sge> sges_;
};

}  // namespace mrc::perf
