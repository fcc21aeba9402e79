// MessageHeader: address and ancillary data that the next messages of a socket are sent with (msg_name and msg_control
// of sendmsg). Made once per burst: the messages of a burst that is sent packet by packet share it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "base/ip.h"
#include "datapath/udp/socket.h"
#include "invariant.h"

namespace mrc::datapath {

class MessageHeader {
 public:
  // Begins a header, without ancillary data. `scope`, `flow_label`: see to_sockaddr().
  void set_address(const IpAddress& to, uint16_t port, uint32_t scope, uint32_t flow_label) {
    length_ = to_sockaddr(to, port, scope, flow_label, &to_);
    control_length_ = 0;
  }
  // The socket is connected to it.
  void omit_address() { length_ = 0; }
  void add_control(int level, int type, const void* value, size_t size) {
    MRC_INVARIANT(control_length_ + CMSG_SPACE(size) <= control_.bytes.size());
    auto* c = reinterpret_cast<cmsghdr*>(control_.bytes.data() + control_length_);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(c), value, size);
    control_length_ += CMSG_SPACE(size);
  }

  const SockAddr& address() const { return to_; }
  socklen_t address_length() const { return length_; }
  // `msg` refers to this object afterwards.
  void apply(msghdr* msg) {
    msg->msg_name = length_ != 0 ? &to_ : nullptr;
    msg->msg_namelen = length_;
    msg->msg_control = control_length_ != 0 ? control_.bytes.data() : nullptr;
    msg->msg_controllen = control_length_;
  }

 private:
  struct alignas(8) Control {
    std::array<char, 64> bytes;  // two values of 4 bytes
  };
  SockAddr to_;
  socklen_t length_ = 0;
  size_t control_length_ = 0;
  Control control_;
};

}  // namespace mrc::datapath
