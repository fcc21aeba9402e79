// The descriptors that the service's thread waits for. Each has a tag that its owner reads back.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <utility>

#include "fd.h"

namespace mrc::shim::rdma_cm {

class Poller {
 public:
  static constexpr int kBurst = 64;  // descriptors that one wait() reports

  explicit Poller(Fd fd) : fd_(std::move(fd)) {}  // of epoll_create1
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  void close() { fd_ = Fd(); }  // in a child of fork, which has a copy
  bool add(int fd, uint32_t events, uint64_t tag) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    return epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }
  // Before the descriptor is closed: a child of vfork may still have a copy of it.
  void remove(int fd) { epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr); }
  // As epoll_wait.
  int wait(epoll_event* events, int timeout_ms) { return epoll_wait(fd_.get(), events, kBurst, timeout_ms); }

 private:
  Fd fd_;
};

}  // namespace mrc::shim::rdma_cm
