// VirtualMemory: the memory of a simulated NIC, of which every address is valid: one region that its own messages are
// sent from, one that its peers write to. No bytes are behind them: the engine forms addresses inside a source region
// but reads no payload while ICRC is off.
#pragma once

#include <cstdint>

#include "core/endpoint.h"

namespace mrc::sim {

class VirtualMemory {
 public:
  static constexpr uint32_t kPd = 1;  // of the regions, and of the queue pairs that may use them

  void register_with(core::Endpoint* endpoint) {
    static uint8_t byte;
    local_key_ = endpoint->memory().add(&byte, 0, kBytes, core::kAccessLocalWrite, kPd);
    remote_key_ = endpoint->memory().add(nullptr, 0, kBytes, core::kAccessLocalWrite | core::kAccessRemoteWrite, kPd);
  }
  Key local_key() const { return local_key_; }
  Key remote_key() const { return remote_key_; }

 private:
  static constexpr uint64_t kBytes = 1ull << 40;

  Key local_key_, remote_key_;
};

}  // namespace mrc::sim
