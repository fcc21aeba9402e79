// Objects of a parent in a child of fork. Their device is a copy in which nothing moves, and their descriptors are the
// parent's. [API-FRK-1]
//
// Call these before a lock is taken, which a thread of the parent may have held at the fork.
#pragma once

#include <cerrno>

#include "api/context.h"
#include "api/cq.h"
#include "api/errors.h"

namespace mrc::api {

inline bool inherited(const SoftContext& soft) {
  return soft.device().inherited();
}
inline bool inherited(const mrc_context* context) {
  return context->device().inherited();
}
inline bool inherited(const mrc_cq* cq) {
  return inherited(cq->context());
}

// Of a call that posts.
template <typename Wr>
int refuse_in_child(Wr* wr, Wr** bad_wr) {
  if (bad_wr != nullptr) *bad_wr = wr;
  return errno_value(EPERM);
}

}  // namespace mrc::api
