// BlockedPlanes: planes with a full socket, on which nothing can be sent until epoll shows that socket writable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/planes.h"

namespace mrc::datapath {

class BlockedPlanes {
 public:
  static constexpr uint64_t kEpollTag = 1ull << 32;  // epoll data of plane p's full socket: kEpollTag + p

  void open(size_t planes, int epoll_fd) {
    epoll_fd_ = epoll_fd;
    sockets_.resize(planes);
  }
  // Until unblock(), or until poll() finds the socket writable. A plane may have several; the last one counts.
  void block(PlaneId plane, int fd);
  void unblock(PlaneId plane) { planes_.erase(plane); }
  // Returns those that it has unblocked.
  PlaneSet poll();

  bool contains(PlaneId plane) const { return planes_.contains(plane); }
  PlaneSet planes() const { return planes_; }

 private:
  struct FullSocket {
    int fd = -1;
    std::vector<int> armed;  // all of the plane that epoll knows: each is added once
  };

  int epoll_fd_ = -1;
  PlaneSet planes_;
  PerPlane<FullSocket> sockets_;
};

}  // namespace mrc::datapath
