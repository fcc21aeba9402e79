// StagingMemory: registered memory from which headers of requests and replies are sent. A message of number s has the
// buffer s mod kWindow, which MRC has read before the next message with that buffer may be sent. [VRB-MBX-1]
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "mailbox/wire.h"

namespace mrc::shim {

class StagingMemory {
 public:
  static constexpr uint32_t kBytes = 2 * kWindow * kReplyBytes;

  StagingMemory(uint8_t* memory, uint32_t key) : memory_(memory), key_(key) {}
  uint8_t* request(uint32_t number) const { return memory_ + number % kWindow * kReplyBytes; }
  uint8_t* reply(uint32_t number) const { return memory_ + (kWindow + number % kWindow) * kReplyBytes; }
  // The first `bytes` of one of these buffers.
  ibv_sge sge(const uint8_t* buffer, uint32_t bytes) const { return {reinterpret_cast<uint64_t>(buffer), bytes, key_}; }

 private:
  uint8_t* const memory_;
  const uint32_t key_;
};

}  // namespace mrc::shim
