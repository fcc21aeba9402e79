#include "packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "clock_ns.h"
#include "topology.h"

namespace mrc::softswitch {
namespace {

constexpr int kBatch = 64;
constexpr int kMaxBatches = 64;           // of one call
constexpr int kReceiveBuffer = 64 << 20;  // a switch process that is late must not lose what it has not seen
constexpr size_t kControlBytes = CMSG_SPACE(sizeof(timespec));

[[noreturn]] void fail(const std::string& what) {
  const int why = errno;
  throw fabric::FabricError(what + ": " + std::strerror(why) +
                            (why == EPERM || why == EACCES ? " (needs root or CAP_NET_RAW)" : ""));
}

// The kernel's time stamp in real time; 0 where it gave none.
int64_t stamp_of(msghdr* m) {
  for (cmsghdr* c = CMSG_FIRSTHDR(m); c != nullptr; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec t{};
    std::memcpy(&t, CMSG_DATA(c), sizeof t);
    return environment::ns_of(t);
  }
  return 0;
}

}  // namespace

Instant monotonic_now() {
  return Instant::from_ns(environment::clock_ns(CLOCK_MONOTONIC));
}

PacketSocket::PacketSocket(const SwitchConfig& config) {
  for (const PortConfig& p : config.ports) {
    interfaces_.push_back(static_cast<int>(if_nametoindex(p.name.c_str())));
    if (interfaces_.back() == 0)
      throw fabric::FabricError("there is no network interface '" + p.name + "' here; run `mrc-switch run` in the " +
                                "namespace of " + config.name + ", as mrc-fabric does");
  }
  fd_ = Fd(socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));  // protocol 0: deaf until all is set
  if (!fd_) fail("a packet socket");
  const int on = 1;
  const int bytes = kReceiveBuffer;
  if (setsockopt(fd_.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0) fail("SO_TIMESTAMPNS");
  if (setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  if (setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  sockaddr_ll all{};
  all.sll_family = AF_PACKET;
  all.sll_protocol = htons(ETH_P_IPV6);
  if (bind(fd_.get(), reinterpret_cast<sockaddr*>(&all), sizeof all) != 0) fail("binding a packet socket");
}

int PacketSocket::receive_batch(Switch* to, FramePool* pool, Instant now, int64_t realtime_offset, Instant* last) {
  while (spare_.size() < kBatch) {
    Frame* f = pool->take();
    if (f == nullptr) break;
    spare_.push_back(f);
  }
  const auto want = static_cast<unsigned>(spare_.size());
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> parts;
  std::array<sockaddr_ll, kBatch> from;
  alignas(cmsghdr) std::array<std::array<char, kControlBytes>, kBatch> control;
  for (unsigned i = 0; i < want; ++i) {
    parts[i] = {spare_[i]->data, pool->buffer_bytes()};
    msghdr& m = messages[i].msg_hdr;
    m.msg_name = &from[i];
    m.msg_namelen = sizeof from[i];
    m.msg_iov = &parts[i];
    m.msg_iovlen = 1;
    m.msg_control = control[i].data();
    m.msg_controllen = kControlBytes;
  }
  if (want == 0) {  // the switch is full: what waits is lost, as in a chip without memory
    if (recv(fd_.get(), nullptr, 0, MSG_DONTWAIT | MSG_TRUNC) < 0) return 0;
    ++counters_.no_buffer;
    return kBatch;
  }
  const int got = recvmmsg(fd_.get(), messages.data(), want, MSG_DONTWAIT, nullptr);
  if (got <= 0) return 0;
  size_t kept = 0;
  for (int i = 0; i < got; ++i) {
    const auto k = static_cast<size_t>(i);
    Frame* f = spare_[k];
    const auto port = std::find(interfaces_.begin(), interfaces_.end(), from[k].sll_ifindex);
    if (port == interfaces_.end() || from[k].sll_pkttype != PACKET_HOST) {
      spare_[kept++] = f;
      continue;
    }
    const int64_t stamp = stamp_of(&messages[k].msg_hdr);
    const Instant at = stamp == 0 ? now : std::min(now, Instant::from_ns(stamp - realtime_offset));
    *last = std::max(*last, at);
    f->bytes = messages[k].msg_len;
    to->receive(f, static_cast<uint16_t>(port - interfaces_.begin()), at);
  }
  spare_.erase(spare_.begin() + static_cast<std::ptrdiff_t>(kept), spare_.begin() + got);
  return got;
}

Instant PacketSocket::receive(Switch* to, FramePool* pool, Instant now) {
  // Both clocks at once, each time: real time may be set.
  const int64_t offset = environment::clock_ns(CLOCK_REALTIME) - environment::clock_ns(CLOCK_MONOTONIC);
  Instant last;
  for (int i = 0; i < kMaxBatches; ++i)
    if (receive_batch(to, pool, now, offset, &last) < kBatch) return now;
  return last;
}

void PacketSocket::send(std::vector<Frame*>* frames, FramePool* pool) {
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> parts;
  std::array<sockaddr_ll, kBatch> to{};
  for (size_t first = 0; first < frames->size();) {
    const size_t count = std::min<size_t>(kBatch, frames->size() - first);
    for (size_t i = 0; i < count; ++i) {
      Frame* f = (*frames)[first + i];
      parts[i] = {f->data, f->bytes};
      to[i].sll_family = AF_PACKET;
      to[i].sll_protocol = htons(ETH_P_IPV6);
      to[i].sll_ifindex = interfaces_[f->port];
      msghdr& m = messages[i].msg_hdr;
      m.msg_name = &to[i];
      m.msg_namelen = sizeof to[i];
      m.msg_iov = &parts[i];
      m.msg_iovlen = 1;
    }
    const int sent = sendmmsg(fd_.get(), messages.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) ++counters_.send_errors;  // the first one: its port is down, or its peer's backlog is full
    first += static_cast<size_t>(std::max(sent, 1));
  }
  for (Frame* f : *frames) pool->release(f);
  frames->clear();
}

SocketCounters PacketSocket::counters() {
  tpacket_stats stats{};
  socklen_t length = sizeof stats;
  if (getsockopt(fd_.get(), SOL_PACKET, PACKET_STATISTICS, &stats, &length) == 0) counters_.overflow += stats.tp_drops;
  return counters_;
}

}  // namespace mrc::softswitch
