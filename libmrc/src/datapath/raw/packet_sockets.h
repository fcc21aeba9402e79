// The sockets of one plane of the raw datapath: AF_PACKET for complete frames out and in, an IPv6 raw socket for
// packets whose next hop the kernel resolves, and those that hold the ports. Requires CAP_NET_RAW.
//
// Frames to this host's own address do not leave by the interface: they arrive by loopback, on a socket of their own.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

#include "datapath/frame/frame.h"
#include "datapath/frame/held_ports.h"
#include "datapath/host_datapath.h"
#include "datapath/udp/socket.h"

namespace mrc::datapath {

class PacketSockets {
 public:
  Status open(const HostPlane& plane, uint32_t rcvbuf, uint32_t sndbuf);

  // Descriptors that become readable with frames: the interface's, then loopback's.
  const std::array<Fd, 2>& receivers() const { return rx_; }
  int frame_fd() const { return tx_.get(); }   // takes frames with their Ethernet header
  int packet_fd() const { return ip_.get(); }  // takes packets from the IPv6 header on
  const HeldPorts& ports() const { return ports_; }
  const MacAddress& mac() const { return mac_; }
  const Interface& interface() const { return interface_; }
  uint32_t granted_receive() const { return granted_receive_; }

 private:
  Result<Fd> open_receiver(uint32_t interface, uint32_t rcvbuf);
  Status open_senders(const HostPlane& plane, uint32_t sndbuf);

  std::array<Fd, 2> rx_;
  Fd tx_, ip_;
  HeldPorts ports_;
  uint32_t granted_receive_ = UINT32_MAX;
  MacAddress mac_{};
  Interface interface_;
};

}  // namespace mrc::datapath
