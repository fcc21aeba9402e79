#include "datapath/udp/socket_connection.h"

namespace mrc::datapath {

// Once per streak. When it fails, addresses stay explicit as before.
void SocketConnection::connect(const UdpSyscalls& sys, int fd, const MessageHeader& header) {
  if (sys.connect(fd, &header.address().sa, header.address_length()) != 0) return;
  connected_to_ = peer_;
  connected_port_ = peer_port_;
}

bool SocketConnection::set_traffic_class(const UdpSyscalls& sys, int fd, const wire::Flow& flow) {
  const bool v4 = flow.dst.is_v4();
  const int value = flow.traffic_class;
  if (sys.setsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &value, sizeof(value)) != 0)
    return false;
  traffic_class_ = value;
  return true;
}

}  // namespace mrc::datapath
