// Opening a device when memory runs out.
#pragma once

#include <cerrno>

#include "harness/counted_new.h"
#include "mrc_soft.h"

namespace mrc::alloc {

// Opens the default device; of the allocations that this needs, the one with the number `nth` fails. Null: errno.
inline ibv_context* open_with_failure(uint64_t nth) {
  set_failures(1, nth);
  errno = 0;
  const Armed on;
  return mrc_soft_open_device_by_name(nullptr);
}

}  // namespace mrc::alloc
