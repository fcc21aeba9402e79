// Taking one token from an eventfd that the application can read as well, and whose O_NONBLOCK flag is the
// application's to choose. Never sleeps: the callers hold a mutex that the device needs.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <cerrno>

namespace mrc::api {

// False when there was none. A kernel before 5.8 has no non-blocking read for a single call; there the descriptor
// is polled first, which leaves a window for an application that reads in between.
inline bool take_event_token(int fd) {
  eventfd_t token;
  iovec into = {&token, sizeof token};
  if (preadv2(fd, &into, 1, -1, RWF_NOWAIT) == sizeof token) return true;
  if (errno == EAGAIN) return false;
  pollfd ready = {fd, POLLIN, 0};
  return poll(&ready, 1, 0) == 1 && eventfd_read(fd, &token) == 0;
}

}  // namespace mrc::api
