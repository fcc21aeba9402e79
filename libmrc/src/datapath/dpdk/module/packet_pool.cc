#include "datapath/dpdk/module/packet_pool.h"

#include <rte_errno.h>
#include <rte_mbuf_pool_ops.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace mrc::datapath {

namespace {

rte_mempool* make_pool(const char* name, uint32_t packets, uint16_t room, int node, bool usual) {
  rte_mempool* pool = usual ? rte_pktmbuf_pool_create_by_ops(name, packets - 1, 0, 0, room, node, "stack") : nullptr;
  return pool != nullptr ? pool : rte_pktmbuf_pool_create(name, packets - 1, 0, 0, room, node);
}

}  // namespace

// A packet that another port still has (net_ring passes them on unchanged) keeps its memory.
PacketPool::~PacketPool() {
  release_spares();
  if (pool_ != nullptr && rte_mempool_full(pool_) == 1) rte_mempool_free(pool_);
}

Status PacketPool::open(const std::string& port, uint32_t packets, uint32_t frame_bytes, int node) {
  static std::atomic<uint32_t> pools{0};
  const std::string name = "mrc-" + std::to_string(pools++);
  MRC_INVARIANT(frame_bytes <= kMaxFrameBytes);
  usual_memory_ = rte_mbuf_user_mempool_ops() == nullptr &&
                  std::strcmp(rte_mbuf_best_mempool_ops(), RTE_MBUF_DEFAULT_MEMPOOL_OPS) == 0;
  buffer_bytes_ = frame_bytes;
  pool_ =
      make_pool(name.c_str(), packets, static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM + frame_bytes), node, usual_memory_);
  if (pool_ == nullptr)
    return Error{rte_errno, "no memory for the packets of port '" + port +
                                "' (more with -m in the setting dpdk_eal): " + rte_strerror(rte_errno)};
  return {};
}

void PacketPool::release_spares() {
  while (spares_ > 0) rte_pktmbuf_free(spare_[--spares_]);
}

void PacketPool::take_spares() {
  if (rte_pktmbuf_alloc_bulk(pool_, spare_.data(), static_cast<unsigned int>(spare_.size())) == 0) {
    spares_ = static_cast<uint32_t>(spare_.size());
    return;
  }
  spare_[0] = rte_pktmbuf_alloc(pool_);
  spares_ = spare_[0] != nullptr ? 1 : 0;
}

}  // namespace mrc::datapath
