#include "datapath/raw/frame_filter.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "datapath/frame/frame.h"

namespace mrc::datapath {

namespace {

constexpr uint32_t kNextHeaderField = 6;  // within an IPv6 header
constexpr uint32_t kDestinationPort = 2;
constexpr uint32_t kBehindOuter = kEthernetBytes + kIpv6Bytes;
constexpr uint32_t kClassicAdd = BPF_ALU | BPF_ADD;  // BPF_K, which is 0, would also be part of it

sock_filter statement(uint32_t code, uint32_t k) {
  return {static_cast<uint16_t>(code), 0, 0, k};
}
sock_filter jump(uint32_t code, uint32_t k, uint8_t yes, uint8_t no) {
  return {static_cast<uint16_t>(code), yes, no, k};
}

}  // namespace

// A is the value to compare, X the length of the SRH, 0 without one.
std::vector<sock_filter> frame_filter(uint16_t port, uint16_t second_port) {
  return {
      statement(BPF_LDX | BPF_IMM, 0),
      statement(BPF_LD | BPF_B | BPF_ABS, kEthernetBytes + kNextHeaderField),
      jump(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ROUTING, 0, 5),
      // The header gives its length in units of eight bytes behind the first eight.
      statement(BPF_LD | BPF_B | BPF_ABS, kBehindOuter + 1),
      statement(kClassicAdd, 1),
      statement(BPF_ALU | BPF_LSH | BPF_K, 3),
      statement(BPF_MISC | BPF_TAX, 0),
      statement(BPF_LD | BPF_B | BPF_ABS, kBehindOuter),
      // A: the next header, at kBehindOuter + X.
      jump(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 5, 0),
      jump(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_IPV6, 0, 7),
      statement(BPF_LD | BPF_B | BPF_IND, kBehindOuter + kNextHeaderField),
      jump(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 5),
      statement(BPF_LD | BPF_H | BPF_IND, kBehindOuter + kIpv6Bytes + kDestinationPort),
      jump(BPF_JMP | BPF_JA, 1, 0, 0),
      statement(BPF_LD | BPF_H | BPF_IND, kBehindOuter + kDestinationPort),
      jump(BPF_JMP | BPF_JEQ | BPF_K, port, 2, 0),
      jump(BPF_JMP | BPF_JEQ | BPF_K, second_port != 0 ? second_port : port, 1, 0),
      statement(BPF_RET | BPF_K, 0),
      statement(BPF_RET | BPF_K, UINT32_MAX),
  };
}

bool attach_filter(int fd, const std::vector<sock_filter>& code) {
  const sock_fprog program{static_cast<unsigned short>(code.size()), const_cast<sock_filter*>(code.data())};
  return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

}  // namespace mrc::datapath
