// A descriptor in an epoll set. It leaves the set before it is closed: a copy that a forked child holds would otherwise
// keep it there, permanently readable, with no process left that could remove it.
#pragma once

#include <sys/epoll.h>

#include "fd.h"

namespace mrc::datapath {

class Watched {
 public:
  Watched(int epoll_fd, Fd fd) : epoll_fd_(epoll_fd), fd_(std::move(fd)) { watch(true); }
  Watched(const Watched&) = delete;
  ~Watched() { watch(false); }

  int get() const { return fd_.get(); }
  bool is_watched() const { return watched_; }
  void watch(bool on) {
    if (!fd_ || on == watched_) return;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = this;
    const bool done = ::epoll_ctl(epoll_fd_, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd_.get(), &event) == 0;
    watched_ = on && done;
  }

  bool readable = false;  // set from epoll's result, cleared by the reader

 private:
  int epoll_fd_;
  Fd fd_;
  bool watched_ = false;
};

}  // namespace mrc::datapath
