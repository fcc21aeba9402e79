// Registration of memory with one of our protection domains, by any name of verbs.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>

#include "interpose/out_of_memory.h"
#include "objects/memory.h"

namespace mrc::shim {

// Null and errno.
inline ibv_mr* register_ours(ibv_pd* pd, void* addr, size_t length, uint64_t iova, unsigned access) {
  if ((access & IBV_ACCESS_ZERO_BASED) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  access &= ~static_cast<unsigned>(IBV_ACCESS_ON_DEMAND);  // all memory is: none is pinned
  return or_enomem<ibv_mr*>(nullptr, [&] { return Mr::create(pd, addr, length, iova, static_cast<int>(access)); });
}

// The result of ibv_rereg_mr.
inline int reregister_ours(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length, int access) {
  if ((access & IBV_ACCESS_ZERO_BASED) != 0) {
    errno = EOPNOTSUPP;
    return IBV_REREG_MR_ERR_INPUT;
  }
  access &= ~static_cast<int>(IBV_ACCESS_ON_DEMAND);
  return or_enomem<int>(IBV_REREG_MR_ERR_CMD, [&] { return Mr::reregister(mr, flags, pd, addr, length, access); });
}

}  // namespace mrc::shim
