// AF_XDP on the interface of one plane: a program that picks this plane's packets, a socket for each receive queue.
// Unchanged: frames to the host itself, and packets whose neighbour the kernel resolves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datapath/raw/packet_sockets.h"
#include "datapath/raw/xdp_program.h"
#include "datapath/raw/xsk.h"

namespace mrc::datapath {

class XdpPlane {
 public:
  // A failure leaves no remains.
  // Where there are more queues than `max_queues`, packets of the others arrive by the packet socket.
  Status open(const PacketSockets& sockets, const IpAddress& address, uint32_t max_queues);

  std::vector<std::unique_ptr<Xsk>>& queues() { return queues_; }
  Xsk& sender() { return *queues_.front(); }
  // Largest frame that all queues take.
  uint32_t largest_frame() const;
  std::string describe() const;  // "AF_XDP, zero-copy, in the driver, 4 queues"

 private:
  XdpProgram program_;
  std::vector<std::unique_ptr<Xsk>> queues_;
};

}  // namespace mrc::datapath
