// A process of a run: its devices, its communicators, and how it waits.
#pragma once

#include <string>
#include <vector>

#include "cuda/library.h"
#include "rig/board.h"
#include "rig/options.h"

namespace mrc::nccl_rig {

// NCCL returned an error, at once or later; the text has the call and NCCL's words.
struct NcclFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One device with its communicator. The owner frees.
struct Gpu {
  int device;
  int rank;
  NcclComm comm = nullptr;
  void* stream = nullptr;
};

struct Process {
  const Options& options;
  Board& board;
  int number;  // of the process; its ranks are number * gpus and those after
  const NcclApi& api;
};

void check(const NcclApi& api, int result, const std::string& call);
// New streams and a communicator of all ranks. Every process calls it.
std::vector<Gpu> make_gpus(const Process& process);
void free_gpus(const Process& process, std::vector<Gpu>* gpus, bool abort = false);
// Until everything that was queued is done. Throws NcclFailed for an asynchronous error, after aborting the
// communicators.
void wait_for(const Process& process, std::vector<Gpu>* gpus);

// Device memory that frees itself.
class DeviceBuffer {
 public:
  DeviceBuffer(size_t bytes, int device);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  char* data() const { return data_; }

 private:
  char* data_;
};

// To the user, through the parent: standard output has NCCL's log. One line.
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);
void report(const std::string& json_line);

// main() of a rank; returns its exit code.
int run_rank(const Options& options, int number, Board* board);

}  // namespace mrc::nccl_rig
