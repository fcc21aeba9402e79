#include "datapath/frame/held_ports.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>

namespace mrc::datapath {

namespace {

bool silence(int fd) {
  sock_filter drop_all{BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog program{1, &drop_all};
  return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

}  // namespace

Status HeldPorts::open(const HostPlane& plane) {
  for (uint16_t port : {plane.port, plane.second_port}) {
    const bool second = !held_.empty();
    if (second && (port == 0 || port == plane.port)) continue;
    Result<BoundUdp> bound = open_udp(kernel_syscalls(), {plane.addr, port, plane.interface, false});
    if (!bound && second && bound.error().code == EADDRINUSE) {
      second_port_taken_ = true;
      continue;
    }
    if (!bound) return std::move(bound).error();
    if (!silence(bound->fd.get())) return failed_call("cannot silence the port's socket");
    (second ? second_port_ : port_) = bound->port;
    held_.push_back(std::move(bound->fd));
  }
  return {};
}

}  // namespace mrc::datapath
