// PostedSges: room for the SGEs of a request while it is posted.
#pragma once

#include "api/limits.h"
#include "core/types.h"

namespace mrc::api {

// Not initialised: zeros for all of them took as long as the rest of posting 64 bytes.
union PostedSges {
  PostedSges() {}
  core::Sge all[kMaxSge];
};

}  // namespace mrc::api
