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

}  // namespace mrc::shim
