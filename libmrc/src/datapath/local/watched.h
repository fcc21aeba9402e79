// A descriptor in an epoll set. It leaves the set before it is closed: a copy that a forked child holds would otherwise
// keep it there, readable for ever, with nobody left who could take it out.
#pragma once

#include <sys/epoll.h>

#include "datapath/fd.h"

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

  bool readable = false;  // noted from what epoll tells, cleared by whoever has read

 private:
  int epoll_fd_;
  Fd fd_;
  bool watched_ = false;
};

}  // namespace mrc::datapath
