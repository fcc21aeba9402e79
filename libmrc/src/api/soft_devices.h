// The ibv_device structures of the configured devices. They are created once and exist until the process ends, so a
// program may free its list and continue to use its entries.
#pragma once

#include "api/public.h"

namespace mrc::api {

bool is_soft_device(const ibv_device* device);

}  // namespace mrc::api
