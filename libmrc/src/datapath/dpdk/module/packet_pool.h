// PacketPool: the packet buffers of one DPDK port, for both directions.
//
// The pool is shared with the port's driver, so that each visit takes a lock: a few buffers are taken at once, and kept
// for the packets to come. The buffer that was freed last is taken first, so that a few buffers are used again and
// again while the processor has them in its cache: DPDK's usual pool is a queue, in which every buffer is the one that
// was not used for longest. Ports with memory of their own, and users who choose by --mbuf-pool-ops-name, keep theirs.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>
#include <string>

#include "invariant.h"
#include "result.h"

namespace mrc::datapath {

class PacketPool {
 public:
  static constexpr uint32_t kMaxFrameBytes = UINT16_MAX - RTE_PKTMBUF_HEADROOM;

  PacketPool() = default;
  ~PacketPool();
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  // `packets` buffers with room for frames of `frame_bytes`, on NUMA node `node`.
  Status open(const std::string& port, uint32_t packets, uint32_t frame_bytes, int node);

  rte_mempool* get() const { return pool_; }  // null: not open
  // Null: all buffers are in use.
  rte_mbuf* allocate() {
    if (spares_ == 0) take_spares();
    return spares_ > 0 ? spare_[--spares_] : nullptr;
  }
  // Returns the buffers that were taken and not used.
  void release_spares();
  // A buffer's room behind the headroom, if any port sends these buffers: with memory of DPDK's usual kind. Else 0.
  uint32_t buffer_bytes() const { return usual_memory_ ? buffer_bytes_ : 0; }

 private:
  void take_spares();

  rte_mempool* pool_ = nullptr;
  bool usual_memory_ = false;
  uint32_t buffer_bytes_ = 0;
  std::array<rte_mbuf*, 8> spare_;
  uint32_t spares_ = 0;
};

}  // namespace mrc::datapath
