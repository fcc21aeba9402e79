// UDP ports of a plane, held by sockets that receive nothing, for datapaths that bypass the kernel's
// sockets: so that two processes do not use one port, and the host sends no "port unreachable".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datapath/host_datapath.h"
#include "datapath/udp/socket.h"

namespace mrc::datapath {

class HeldPorts {
 public:
  // EADDRINUSE when another process has the first port. The second one is omitted if it is taken.
  Status open(const HostPlane& plane);
  uint16_t port() const { return port_; }
  uint16_t second_port() const { return second_port_; }  // 0: none
  bool second_port_taken() const { return second_port_taken_; }
  int fd() const { return held_.front().get(); }  // one of the sockets, for ioctls

 private:
  std::vector<Fd> held_;
  uint16_t port_ = 0;
  uint16_t second_port_ = 0;
  bool second_port_taken_ = false;
};

}  // namespace mrc::datapath
