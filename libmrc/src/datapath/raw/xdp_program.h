// Loads the XDP program (xdp_code.h) and attaches it to an interface by a BPF link: when the process ends in any
// way, its descriptors close and the program is removed with them. Requires CAP_NET_ADMIN and CAP_BPF (or root).
#pragma once

#include <cstdint>
#include <string>

#include "base/ip.h"
#include "datapath/udp/socket.h"

namespace mrc::datapath {

class XdpProgram {
 public:
  // False: a sentence in *why. `queues`: receive queues of the interface.
  Status open(uint32_t interface, uint32_t queues, const IpAddress& address, uint16_t port, uint16_t second_port);
  // Packets of that queue go to this AF_XDP socket.
  Status add(uint32_t queue, int socket);
  bool in_driver() const { return in_driver_; }        // else in the kernel's generic layer
  bool several_buffers() const { return fragments_; }  // frames larger than a page reach it

 private:
  Status load(const IpAddress& address, uint16_t port, uint16_t second_port, bool fragments);
  Status attach(uint32_t interface);

  Fd sockets_, program_, link_;
  bool in_driver_ = false;
  bool fragments_ = false;
};

}  // namespace mrc::datapath
