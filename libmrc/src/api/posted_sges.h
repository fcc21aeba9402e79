// PostedSges: room for the SGEs of a request while it is posted.
#pragma once

#include <cstddef>

#include "api/limits.h"
#include "core/types.h"

namespace mrc::api {

// Not initialised: zeros for all of them took half of the time that a request of 64 bytes spends in mrc_post_send.
class PostedSges {
 public:
  core::Sge* data() { return reinterpret_cast<core::Sge*>(room_); }

 private:
  alignas(core::Sge) std::byte room_[sizeof(core::Sge) * kMaxSge];
};

}  // namespace mrc::api
