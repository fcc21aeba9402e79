#include "datapath/raw/xdp_code.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstddef>
#include <cstring>

#include "datapath/frame/frame.h"

namespace mrc::datapath {

namespace {

// r7 points kEthernetBytes before an IPv6 header, first the outer and then the inner one.
enum Register : uint8_t { kResult = 0, kArg1 = 1, kArg2 = 2, kArg3 = 3, kContext = 6, kAt = 7, kEnd = 8 };
enum Label : uint8_t { kPass, kRedirect, kUdp, kInner, kRoutingHeader, kLabels };

constexpr int16_t kIp = kEthernetBytes;
constexpr int16_t kNextHeader = kIp + 6;
constexpr int16_t kDestination = kIp + 24;
constexpr int16_t kBehindIp = kIp + kIpv6Bytes;
constexpr int16_t kUdpPort = kBehindIp + 2;
constexpr int32_t kHeadersTo = kUdpPort + 2;  // bytes that must be present
constexpr int32_t kRoutingTypeSegments = 4;

// Two codes of which BPF_K and BPF_IMM, both 0, would also be parts.
constexpr uint8_t kAddConstant = BPF_ALU64 | BPF_ADD;
constexpr uint8_t kLoadConstant = BPF_LD | BPF_DW;

class Code {
 public:
  void load(uint8_t size, Register to, Register from, int16_t offset) {
    add(static_cast<uint8_t>(BPF_LDX | size | BPF_MEM), to, from, offset, 0);
  }
  void move(Register to, Register from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void set(Register to, int32_t value) { add(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
  void plus(Register to, int32_t value) { add(kAddConstant, to, 0, 0, value); }
  void plus(Register to, Register from) { add(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0); }
  void times8(Register to) { add(BPF_ALU64 | BPF_LSH | BPF_K, to, 0, 0, 3); }
  void go_if(uint8_t condition, Register left, int32_t right, Label to) {
    jump(static_cast<uint8_t>(BPF_JMP32 | condition | BPF_K), left, 0, right, to);
  }
  void go_if_greater(Register left, Register right, Label to) { jump(BPF_JMP | BPF_JGT | BPF_X, left, right, 0, to); }
  void go(Label to) { jump(BPF_JMP | BPF_JA, 0, 0, 0, to); }
  void place(Label label) { places_[label] = static_cast<int>(code_.size()); }
  void load_map(Register to, int fd) {
    add(kLoadConstant, to, BPF_PSEUDO_MAP_FD, 0, fd);
    add(0, 0, 0, 0, 0);
  }
  void call(int32_t function) { add(BPF_JMP | BPF_CALL, 0, 0, 0, function); }
  void leave() { add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

  // The frame has at least this many bytes behind kAt.
  void need(int32_t bytes) {
    move(kArg2, kAt);
    plus(kArg2, bytes);
    go_if_greater(kArg2, kEnd, kPass);
  }
  void need_destination(const IpAddress& address) {
    for (int16_t i = 0; i < 16; i += 4) {
      int32_t word;
      std::memcpy(&word, address.bytes.data() + i, 4);
      load(BPF_W, kResult, kAt, static_cast<int16_t>(kDestination + i));
      go_if(BPF_JNE, kResult, word, kPass);
    }
  }

  std::vector<bpf_insn> finish() {
    for (const Jump& jump : jumps_)
      code_[jump.at].off = static_cast<int16_t>(places_[jump.to] - static_cast<int>(jump.at) - 1);
    return code_;
  }

 private:
  struct Jump {
    size_t at;
    Label to;
  };
  void add(uint8_t code, uint8_t to, uint8_t from, int16_t offset, int32_t value) {
    bpf_insn one{};
    one.code = code;
    one.dst_reg = to & 15u;
    one.src_reg = from & 15u;
    one.off = offset;
    one.imm = value;
    code_.push_back(one);
  }
  void jump(uint8_t code, uint8_t left, uint8_t right, int32_t value, Label to) {
    jumps_.push_back({code_.size(), to});
    add(code, left, right, 0, value);
  }

  std::vector<bpf_insn> code_;
  std::vector<Jump> jumps_;
  int places_[kLabels] = {};
};

}  // namespace

std::vector<bpf_insn> xdp_code(const IpAddress& address, uint16_t port, uint16_t second_port, int sockets) {
  Code c;
  c.move(kContext, kArg1);
  c.load(BPF_W, kAt, kContext, offsetof(xdp_md, data));
  c.load(BPF_W, kEnd, kContext, offsetof(xdp_md, data_end));
  c.need(kHeadersTo);
  c.load(BPF_H, kResult, kAt, 12);
  c.go_if(BPF_JNE, kResult, htons(0x86DD), kPass);
  c.need_destination(address);
  c.load(BPF_B, kResult, kAt, kNextHeader);
  c.go_if(BPF_JEQ, kResult, IPPROTO_UDP, kUdp);
  c.go_if(BPF_JEQ, kResult, IPPROTO_ROUTING, kRoutingHeader);
  c.go_if(BPF_JNE, kResult, IPPROTO_IPV6, kPass);
  c.plus(kAt, kIpv6Bytes);
  c.go(kInner);

  c.place(kRoutingHeader);
  c.need(kBehindIp + 8);
  c.load(BPF_B, kResult, kAt, kBehindIp);
  c.go_if(BPF_JNE, kResult, IPPROTO_IPV6, kPass);
  c.load(BPF_B, kResult, kAt, kBehindIp + 2);
  c.go_if(BPF_JNE, kResult, kRoutingTypeSegments, kPass);
  c.load(BPF_B, kResult, kAt, kBehindIp + 3);
  c.go_if(BPF_JNE, kResult, 0, kPass);  // segments left
  c.load(BPF_B, kResult, kAt, kBehindIp + 1);
  c.plus(kResult, 1);
  c.times8(kResult);
  c.plus(kAt, kIpv6Bytes);
  c.plus(kAt, kResult);

  c.place(kInner);
  c.need(kHeadersTo);
  c.need_destination(address);
  c.load(BPF_B, kResult, kAt, kNextHeader);
  c.go_if(BPF_JNE, kResult, IPPROTO_UDP, kPass);

  c.place(kUdp);
  c.load(BPF_H, kResult, kAt, kUdpPort);
  c.go_if(BPF_JEQ, kResult, htons(port), kRedirect);
  if (second_port != 0) c.go_if(BPF_JEQ, kResult, htons(second_port), kRedirect);

  c.place(kPass);
  c.set(kResult, XDP_PASS);
  c.leave();

  c.place(kRedirect);
  c.load_map(kArg1, sockets);
  c.load(BPF_W, kArg2, kContext, offsetof(xdp_md, rx_queue_index));
  c.set(kArg3, XDP_PASS);  // where the queue has no socket
  c.call(BPF_FUNC_redirect_map);
  c.leave();
  return c.finish();
}

}  // namespace mrc::datapath
