// The results of posting, as errno values. [API-POST-1]
#pragma once

#include <cerrno>

#include "core/types.h"

namespace mrc::api {

inline int to_errno(core::PostResult r) {
  using core::PostResult;
  switch (r) {
    case PostResult::kOk:
      return 0;
    case PostResult::kQueueFull:
      return ENOMEM;
    case PostResult::kBadState:
    case PostResult::kTooManySges:
    case PostResult::kInlineTooLong:
    case PostResult::kTooLong:
      return EINVAL;
    case PostResult::kUnreadable:
      return EFAULT;
  }
  return EINVAL;
}

}  // namespace mrc::api
