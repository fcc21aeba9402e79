#include "datapath/frame/held_ports.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace mrc::datapath {

namespace {

bool silence(int fd) {
  sock_filter drop_all{BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog program{1, &drop_all};
  return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

}  // namespace

bool HeldPorts::open(const HostPlane& plane, std::string* error) {
  for (uint16_t port : {plane.port, plane.second_port}) {
    const bool second = !held_.empty();
    if (second && (port == 0 || port == plane.port)) continue;
    uint16_t bound = 0;
    Fd fd = open_udp(kernel_syscalls(), {plane.addr, port, plane.interface, false}, &bound, error);
    if (!fd && second && errno == EADDRINUSE) {
      second_port_taken_ = true;
      error->clear();
      continue;
    }
    if (!fd) return false;
    if (!silence(fd.get())) {
      *error = std::string("cannot silence the port's socket: ") + std::strerror(errno);
      return false;
    }
    (second ? second_port_ : port_) = bound;
    held_.push_back(std::move(fd));
  }
  return true;
}

}  // namespace mrc::datapath
