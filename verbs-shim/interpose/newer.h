// Structures of libibverbs that are newer than the headers of rdma-core 44, as far as the shim uses them. They have
// names of their own so that newer headers compile, too.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

struct ibv_buf;

namespace mrc::shim {

// Argument of ibv_reg_mr_ex (rdma-core 59; `buf` since 64). A member is valid when its bit is set in comp_mask.
struct MrInitAttr {
  size_t length;
  int access;
  uint64_t comp_mask;
  uint64_t iova;
  void* addr;
  int fd;
  uint64_t fd_offset;
  void* dmah;
  ibv_buf* buf;
};
static_assert(offsetof(MrInitAttr, comp_mask) == 16 && offsetof(MrInitAttr, fd_offset) == 48);
static_assert(sizeof(MrInitAttr) == 72);
enum MrInitAttrMask : uint64_t {
  kMrIova = 1 << 0,
  kMrAddr = 1 << 1,
  kMrFd = 1 << 2,
  kMrFdOffset = 1 << 3,
  kMrDmaHandle = 1 << 4,
  kMrBuffer = 1 << 5,
};

// DMA handles (rdma-core 59) and completion counters (65) begin with their context; the rest is the provider's.
struct OfContext {
  ibv_context* context;
};

}  // namespace mrc::shim
