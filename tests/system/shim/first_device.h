// The first device of the shim, opened for the caller alone.
#pragma once

#include <infiniband/verbs.h>
#include <poll.h>

// Null where there is none.
inline ibv_context* open_first_device() {
  ibv_device** const devices = ibv_get_device_list(nullptr);
  ibv_context* const opened = devices != nullptr && devices[0] != nullptr ? ibv_open_device(devices[0]) : nullptr;
  ibv_free_device_list(devices);
  return opened;
}

// Is there an asynchronous event to take?
inline bool has_async_event(const ibv_context* context) {
  pollfd events{context->async_fd, POLLIN, 0};
  return ::poll(&events, 1, 0) == 1;
}
