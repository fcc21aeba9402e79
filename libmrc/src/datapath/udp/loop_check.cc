#include "datapath/udp/loop_check.h"

#include <netinet/udp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "datapath/udp/socket.h"

namespace mrc::datapath {

namespace {

constexpr uint32_t kSegment = 64;
constexpr uint32_t kBurst = 96;  // two segments
constexpr uint32_t kSingle = 40;
constexpr uint32_t kReceiveBytes = 4 << 20;  // all loops of a large fabric answer at once
constexpr std::chrono::seconds kWait(1);

// One plane: sockets of its own, and the bytes still expected from each loop.
class LoopCheck {
 public:
  bool open(const UdpSyscalls& sys, const HostPlane& plane, const Srv6Plan& plan, PlaneId number) {
    sys_ = &sys;
    loops_ = plan.loops(number, plane.addr);
    if (loops_.empty()) return false;
    Result<BoundUdp> sender = open_udp(sys, {plane.addr, 0, plane.interface, false});
    Result<BoundUdp> receiver = open_udp(sys, {plane.addr, 0, plane.interface, false});
    missing_.assign(loops_.size(), kBurst + kSingle);
    if (!sender || !receiver) return false;
    tx_ = std::move(sender->fd);
    rx_ = std::move(receiver->fd);
    port_ = receiver->port;
    (void)grow_buffer(sys, rx_.get(), true, kReceiveBytes);
    return true;
  }

  bool send() {
    for (size_t i = 0; i < loops_.size(); ++i)
      if (loops_[i].has_segment || !send_to(loops_[i].destination, i, kBurst) ||
          !send_to(loops_[i].destination, i, kSingle))
        return false;
    return true;
  }

  int fd() const { return rx_.get(); }
  bool complete() const {
    return std::all_of(missing_.begin(), missing_.end(), [](uint32_t bytes) { return bytes == 0; });
  }

  void receive() {
    std::array<uint8_t, 2 * kBurst> in;
    for (;;) {
      const ssize_t n = ::recv(rx_.get(), in.data(), in.size(), MSG_DONTWAIT);
      if (n < 2) return;
      const size_t loop = static_cast<size_t>(in[0]) << 8 | in[1];
      if (loop < missing_.size()) missing_[loop] -= std::min(missing_[loop], static_cast<uint32_t>(n));
    }
  }

 private:
  // Every segment begins with the number of the loop.
  bool send_to(const IpAddress& to, size_t loop, uint32_t bytes) {
    std::array<uint8_t, kBurst> payload{};
    for (uint32_t at : {0u, kSegment}) {
      payload[at] = static_cast<uint8_t>(loop >> 8);
      payload[at + 1] = static_cast<uint8_t>(loop);
    }
    SockAddr address;
    iovec iov{payload.data(), bytes};
    msghdr msg{};
    msg.msg_namelen = to_sockaddr(to, port_, 0, 0, &address);
    msg.msg_name = &address;
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    alignas(8) std::array<char, CMSG_SPACE(sizeof(uint16_t))> control{};
    if (bytes > kSegment) {
      msg.msg_control = control.data();
      msg.msg_controllen = control.size();
      cmsghdr* c = CMSG_FIRSTHDR(&msg);
      c->cmsg_level = SOL_UDP;
      c->cmsg_type = UDP_SEGMENT;
      c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
      const uint16_t segment = kSegment;
      std::memcpy(CMSG_DATA(c), &segment, sizeof(segment));
    }
    return sys_->sendmsg(tx_.get(), &msg, MSG_DONTWAIT) == static_cast<ssize_t>(bytes);
  }

  const UdpSyscalls* sys_ = nullptr;
  std::vector<SegmentPath> loops_;
  std::vector<uint32_t> missing_;  // bytes, by loop
  Fd tx_, rx_;
  uint16_t port_ = 0;
};

}  // namespace

PlaneSet check_loops(const UdpSyscalls& sys, const PerPlane<HostPlane>& planes, const Srv6Plan& plan) {
  PerPlane<LoopCheck> checks(planes.size());
  PlaneSet waiting;
  for (const PlaneId p : planes.ids()) waiting.set(p, checks[p].open(sys, planes[p], plan, p) && checks[p].send());
  PlaneSet good;
  const auto until = std::chrono::steady_clock::now() + kWait;
  while (!waiting.empty()) {
    std::vector<pollfd> fds;
    for (const PlaneId p : waiting) fds.push_back({checks[p].fd(), POLLIN, 0});
    // Checked last when the time is over: a delayed process still has its answers.
    const auto left = std::max<int64_t>(
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count(), 0);
    const int ready = ::poll(fds.data(), fds.size(), static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    for (const PlaneId p : waiting) {
      checks[p].receive();
      if (!checks[p].complete()) continue;
      good.insert(p);
      waiting.erase(p);
    }
    if (left == 0) break;  // everything queued is read
  }
  return good;
}

}  // namespace mrc::datapath
