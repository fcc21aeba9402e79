// Wakeup: a descriptor by which one thread ends the sleep of another in poll(2). It is readable from wake() to drain(),
// however often it was woken.
#pragma once

#include <sys/eventfd.h>

#include <utility>

#include "fd.h"

namespace mrc {

class Wakeup {
 public:
  Wakeup() = default;  // without a descriptor
  // Without one and with errno when none is available.
  static Wakeup make() { return Wakeup(Fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))); }

  int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  void wake() const { ::eventfd_write(fd(), 1); }
  void drain() const {
    eventfd_t count;
    ::eventfd_read(fd(), &count);
  }

 private:
  explicit Wakeup(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

}  // namespace mrc
