#include "datapath/blocked_planes.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>

namespace mrc::datapath {

void BlockedPlanes::block(PlaneId plane, int fd) {
  FullSocket& socket = sockets_[plane];
  planes_.insert(plane);
  socket.fd = fd;
  epoll_event event{};
  event.events = EPOLLOUT | EPOLLONESHOT;
  event.data.u64 = kEpollTag + plane.value();
  const bool known = std::find(socket.armed.begin(), socket.armed.end(), fd) != socket.armed.end();
  if (!known) socket.armed.push_back(fd);
  (void)::epoll_ctl(epoll_fd_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
}

PlaneSet BlockedPlanes::poll() {
  const PlaneSet before = planes_;
  for (const PlaneId p : before) {
    pollfd check{sockets_[p].fd, POLLOUT, 0};
    if (::poll(&check, 1, 0) == 1) unblock(p);
  }
  return before - planes_;
}

}  // namespace mrc::datapath
