// ReceiveMessages: what recvmsg and recvmmsg fill beside the data: addresses and ancillary data.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>

#include "datapath/udp/socket.h"
#include "datapath/udp/syscalls.h"

namespace mrc::datapath {

class ReceiveMessages {
 public:
  static constexpr uint32_t kMaxBatch = 64;

  // Message i is to be received into `data`.
  void prepare(uint32_t i, uint8_t* data, uint32_t size) {
    iovs_[i] = {data, size};
    msghdr& msg = msgs_[i].msg_hdr;
    msg = {};
    msg.msg_name = &from_[i];
    msg.msg_namelen = sizeof(from_[i]);
    msg.msg_iov = &iovs_[i];
    msg.msg_iovlen = 1;
    msg.msg_control = control_[i].bytes.data();
    msg.msg_controllen = control_[i].bytes.size();
  }
  // Bytes of message 0, or -1: errno.
  ssize_t receive_one(const UdpSyscalls& sys, int fd) { return sys.recvmsg(fd, &msgs_[0].msg_hdr, MSG_DONTWAIT); }
  // How many of the first `count` messages were received, or -1: errno.
  int receive_many(const UdpSyscalls& sys, int fd, uint32_t count) {
    return sys.recvmmsg(fd, msgs_.data(), count, MSG_DONTWAIT, nullptr);
  }

  const msghdr& header(uint32_t i) const { return msgs_[i].msg_hdr; }
  const SockAddr& from(uint32_t i) const { return from_[i]; }
  const uint8_t* data(uint32_t i) const { return static_cast<const uint8_t*>(iovs_[i].iov_base); }
  uint32_t bytes(uint32_t i) const { return msgs_[i].msg_len; }  // of receive_many()

 private:
  struct alignas(8) Control {
    std::array<char, 128> bytes;
  };

  std::array<mmsghdr, kMaxBatch> msgs_;
  std::array<iovec, kMaxBatch> iovs_;
  std::array<SockAddr, kMaxBatch> from_;
  std::array<Control, kMaxBatch> control_;
};

}  // namespace mrc::datapath
