// The ibv_device structures of the configured devices. They are made once and stay for the life of the process, so a
// program may free its list and go on using what it took from it.
#pragma once

#include "api/public.h"

namespace mrc::api {

bool is_soft_device(const ibv_device* device);

}  // namespace mrc::api
