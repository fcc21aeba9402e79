// The first device of the shim, opened for the caller alone.
#pragma once

#include <infiniband/verbs.h>

// Null where there is none.
inline ibv_context* open_first_device() {
  ibv_device** const devices = ibv_get_device_list(nullptr);
  ibv_context* const opened = devices != nullptr && devices[0] != nullptr ? ibv_open_device(devices[0]) : nullptr;
  ibv_free_device_list(devices);
  return opened;
}
