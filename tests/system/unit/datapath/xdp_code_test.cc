// The XDP program, run by the kernel over frames: it takes what parse_frame and is_for take, and passes on everything
// else [MRC-SR-22] [MRC-SR-14].
#include "datapath/raw/xdp_code.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "datapath/frame/frame.h"
#include "datapath/udp/socket.h"
#include "harness/text.h"

namespace mrc::datapath {
namespace {

using testing_text::ip;

constexpr uint16_t kPort = 4791, kSecondPort = 4971;
constexpr uint32_t kPassed = XDP_PASS, kTaken = XDP_DROP;

int bpf(bpf_cmd command, bpf_attr* attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, attributes, sizeof(*attributes)));
}

// The program, with one change: where there is no socket, and here there is none, a packet that it takes is dropped
// instead of passed on, so that the two can be told apart.
class XdpCode : public ::testing::Test {
 protected:
  void SetUp() override {
    bpf_attr map{};
    map.map_type = BPF_MAP_TYPE_XSKMAP;
    map.key_size = map.value_size = 4;
    map.max_entries = 1;
    map_ = Fd(bpf(BPF_MAP_CREATE, &map));
    if (!map_ && (errno == EPERM || errno == ENOSYS)) GTEST_SKIP() << "XDP programs need root or CAP_BPF";
    ASSERT_TRUE(map_) << std::strerror(errno);
    std::vector<bpf_insn> code = xdp_code(flow_.dst, kPort, kSecondPort, map_.get());
    for (bpf_insn& one : code)
      if (one.code == (BPF_ALU64 | BPF_MOV | BPF_K) && one.dst_reg == 3) one.imm = kTaken;
    std::string log(65536, 0);
    bpf_attr load{};
    load.prog_type = BPF_PROG_TYPE_XDP;
    load.insns = reinterpret_cast<uint64_t>(code.data());
    load.insn_cnt = static_cast<uint32_t>(code.size());
    load.license = reinterpret_cast<uint64_t>("MIT");
    load.log_buf = reinterpret_cast<uint64_t>(log.data());
    load.log_size = static_cast<uint32_t>(log.size());
    load.log_level = 1;
    program_ = Fd(bpf(BPF_PROG_LOAD, &load));
    ASSERT_TRUE(program_) << std::strerror(errno) << "\n" << log.c_str();
  }

  void expect(const std::vector<uint8_t>& frame, uint32_t verdict, const std::string& what) {
    bpf_attr run{};
    run.test.prog_fd = static_cast<uint32_t>(program_.get());
    run.test.data_in = reinterpret_cast<uint64_t>(frame.data());
    run.test.data_size_in = static_cast<uint32_t>(frame.size());
    ASSERT_EQ(bpf(BPF_PROG_TEST_RUN, &run), 0) << std::strerror(errno);
    EXPECT_EQ(run.test.retval, verdict) << what;
    const auto parsed = parse_frame(frame.data(), static_cast<uint32_t>(frame.size()));
    const bool ours = parsed && is_for(*parsed, flow_.dst, kPort, kSecondPort);
    EXPECT_EQ(ours, verdict == kTaken) << what;
  }

  static std::vector<uint8_t> frame(const wire::Flow& flow, const IpAddress& outer, bool srh) {
    SegmentPath path;
    path.destination = outer;
    path.has_segment = srh;
    path.segment = flow.dst;
    FrameHeader header;
    write_header(flow, path, 32, &header);
    std::vector<uint8_t> bytes(header.bytes.begin(), header.bytes.begin() + header.length);
    bytes.resize(bytes.size() + 32);
    if (srh) bytes[kEthernetBytes + kIpv6Bytes + 3] = 0;  // as the last switch leaves it
    return bytes;
  }

  wire::Flow flow_ = [] {
    wire::Flow flow;
    flow.src = ip("fc00:1:1::");
    flow.dst = ip("fc00:1:2::");
    flow.src_port = 50000;
    flow.dst_port = kPort;
    return flow;
  }();
  const IpAddress other_ = ip("fc00:1:3::");
  Fd map_, program_;
};

TEST_F(XdpCode, takes_what_is_ours_in_every_form) {
  expect(frame(flow_, flow_.dst, false), kTaken, "plain");
  expect(frame(flow_, flow_.dst, true), kTaken, "SRH with no segment left");
  auto encapsulated = frame(flow_, other_, false);
  std::copy_n(flow_.dst.bytes.begin(), 16, encapsulated.begin() + kEthernetBytes + 24);
  expect(encapsulated, kTaken, "outer header to our address");
  flow_.dst_port = kSecondPort;
  expect(frame(flow_, flow_.dst, false), kTaken, "second port");
}

TEST_F(XdpCode, passes_on_what_is_not) {
  expect(frame(flow_, other_, false), kPassed, "outer header to somebody else");
  wire::Flow other = flow_;
  other.dst = other_;
  expect(frame(other, other_, false), kPassed, "somebody else's");
  auto wrong_inside = frame(other, flow_.dst, false);
  expect(wrong_inside, kPassed, "inside for somebody else");
  other = flow_;
  other.dst_port = 53;
  expect(frame(other, other.dst, false), kPassed, "another port");
  auto bytes = frame(flow_, flow_.dst, false);
  bytes[13] = 0;
  expect(bytes, kPassed, "IPv4");
  bytes = frame(flow_, flow_.dst, false);
  bytes[kEthernetBytes + 6] = 6;
  expect(bytes, kPassed, "TCP");
  bytes[kEthernetBytes + 6] = 58;
  expect(bytes, kPassed, "ICMP");
}

TEST_F(XdpCode, hostile_routing_headers) {
  const auto good = frame(flow_, flow_.dst, true);
  for (const auto& [at, value] : std::vector<std::pair<uint32_t, uint8_t>>{
           {0, 17}, {0, 43}, {1, 0}, {1, 1}, {1, 3}, {1, 255}, {2, 0}, {3, 1}, {3, 255}}) {
    auto bad = good;
    bad[kEthernetBytes + kIpv6Bytes + at] = value;
    expect(bad, kPassed, "byte " + std::to_string(at) + " is " + std::to_string(value));
  }
}

TEST_F(XdpCode, cut_inside_the_headers) {
  for (const bool srh : {false, true}) {
    const auto whole = frame(flow_, flow_.dst, srh);
    for (size_t n = kEthernetBytes; n < whole.size() - 32 - 4; n += 3)
      expect({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n)}, kPassed, std::to_string(n) + " bytes");
  }
}

}  // namespace
}  // namespace mrc::datapath
