// Memory that the processes of a run share: the id of the communicator, barriers, measured times, and whether one
// failed. A memfd, inherited by the ranks, also through programs that change the network namespace.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>

#include "cuda/nccl_api.h"

namespace mrc::nccl_rig {

constexpr int kMaxProcesses = 64;

struct PeerFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Board {
 public:
  // The parent's: new. A rank's: of the inherited descriptor. Throws std::runtime_error.
  static Board* create(int processes, int* descriptor);
  static Board* attach(int descriptor);

  // Every process calls it once, at the same point: barriers from now on are of all but the last process.
  void lose_process();
  // The process that is about to end, by its number; 0: none has said so.
  void set_ending(int pid) { ending_ = pid; }
  int ending() const { return ending_; }
  // Waits for every process. Throws PeerFailed where one has failed.
  void barrier();
  // The largest value of all processes; a barrier too.
  double maximum(int process, double value);
  double sum(int process, double value);
  // Process 0's value for all; a barrier too.
  NcclUniqueId share_id(int process, const NcclUniqueId& own);

  void fail() { failed_ = true; }
  bool failed() const { return failed_; }
  // The user interrupts: the batch under way is the last.
  void finish() { finishing_ = true; }
  bool finishing() const { return finishing_; }

 private:
  std::atomic<int> processes_, waiting_;
  std::atomic<unsigned> generation_;
  std::atomic<bool> failed_, finishing_;
  std::atomic<int> ending_;
  NcclUniqueId id_;
  double values_[kMaxProcesses];
  int all_;
};

}  // namespace mrc::nccl_rig
