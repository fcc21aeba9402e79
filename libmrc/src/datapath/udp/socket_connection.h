// SocketConnection: the address that a transmit socket is connected to. A socket whose last bursts all went to one
// address is connected to it, which saves the kernel a route lookup per call (about 0.5 us with IPv6); the traffic
// class is then a socket option, set when it changes, because ancillary data of the IP level makes the kernel look the
// route up again. Bursts to other addresses are still sent through the same socket with explicit address and class, and
// the socket is reconnected when they continue.
#pragma once

#include <cstdint>

#include "base/ip.h"
#include "datapath/udp/message_header.h"
#include "datapath/udp/syscalls.h"
#include "wire/flow.h"

namespace mrc::datapath {

class SocketConnection {
 public:
  static constexpr uint16_t kConnectAfter = 8;  // bursts in a row to one address

  // To be called once per burst; `header` has the address that the burst is sent to. True: `fd` is connected to that
  // address and has the flow's traffic class, so that messages need neither.
  bool use(const UdpSyscalls& sys, int fd, const wire::Flow& flow, const MessageHeader& header) {
    if (flow.dst_port != peer_port_ || flow.dst != peer_) {
      peer_ = flow.dst;
      peer_port_ = flow.dst_port;
      streak_ = 0;
    } else if (streak_ < kConnectAfter && ++streak_ == kConnectAfter) {
      connect(sys, fd, header);
    }
    if (flow.dst_port != connected_port_ || flow.dst != connected_to_) return false;
    return traffic_class_ == flow.traffic_class || set_traffic_class(sys, fd, flow);
  }

 private:
  void connect(const UdpSyscalls& sys, int fd, const MessageHeader& header);
  bool set_traffic_class(const UdpSyscalls& sys, int fd, const wire::Flow& flow);

  IpAddress peer_;  // of the last burst
  uint16_t peer_port_ = 0;
  uint16_t streak_ = 0;  // bursts in a row to it, from the second on
  uint16_t connected_port_ = 0;
  IpAddress connected_to_;  // zero: not connected
  int traffic_class_ = -1;  // of the connected socket
};

}  // namespace mrc::datapath
