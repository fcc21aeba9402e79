// A collective as this rank sees it: for every connection the messages in their order, what must have been received
// before a message may be sent, and what to do with what arrives. run() is the proxy loop: posts up to `depth` messages
// on each connection, tests them in order, reduces, and yields when nothing progresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "link.h"

namespace mrc::net_bench {

struct SendMessage {
  const char* data;
  size_t size;
  int after_flow = -1;  // this receive flow must have finished `after_count` messages; -1: at once
  size_t after_count = 0;
};

struct ReceiveMessage {
  char* data;  // where it ends up; for a reduction the sum
  size_t size;
  const float* add = nullptr;  // data = add + what arrives; null: straight into data
};

struct SendFlow {
  void* comm;
  void* memory;        // of the work buffer
  void* input_memory;  // of the input, for messages from there
  const char* input;
  size_t input_size;
  std::vector<SendMessage> messages;
};

struct ReceiveFlow {
  void* comm;
  void* memory;
  char* scratch;  // depth slots of `slot` bytes, for reductions
  void* scratch_memory;
  size_t slot;
  std::vector<ReceiveMessage> messages;
};

struct Schedule {
  size_t depth = 8;  // as NCCL_STEPS
  std::vector<SendFlow> sends;
  std::vector<ReceiveFlow> receives;
  void run(Rank& rank);
};

}  // namespace mrc::net_bench
