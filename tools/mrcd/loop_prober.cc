#include "loop_prober.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>

#include "device/clock.h"
#include "device/srv6.h"
#include "socket_address.h"

namespace mrc::mrcd {

namespace {

constexpr int kMaxAnswersAtOnce = 4096;
constexpr int kReceiveBytes = 4 << 20;   // answers may wait while mrcd writes its file
constexpr uint32_t kMagic = 0x4D52434C;  // "MRCL"

struct Payload {
  uint32_t magic;
  uint32_t path;
  uint32_t number;
  uint32_t zero;
  uint64_t nonce;
};
static_assert(sizeof(Payload) == 24);

// Arrival time of the datagram. The kernel's stamp is of the wall clock, which may be set at any time; so only the time
// since then is taken from it, and only if it fits between `sent` and `taken`, when it was received from the socket.
Instant arrival(msghdr* message, Instant sent, Instant taken) {
  for (cmsghdr* c = CMSG_FIRSTHDR(message); c != nullptr; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec stamp, wall;
    std::memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
    ::clock_gettime(CLOCK_REALTIME, &wall);
    const Instant came =
        taken - (Duration::seconds(wall.tv_sec - stamp.tv_sec) + Duration::nanoseconds(wall.tv_nsec - stamp.tv_nsec));
    if (came > sent && came < taken) return came;
  }
  return taken;
}

}  // namespace

std::string usid_text(uint16_t usid) {
  char text[8];
  std::snprintf(text, sizeof text, "%04x", usid);
  return text;
}

Result<std::vector<LoopPath>> loop_paths(const device::DeviceConfig& config) {
  std::vector<LoopPath> paths;
  const auto planes = static_cast<uint32_t>(config.planes.size());
  if (config.settings.ev_mode != device::EvMode::kSrv6 || config.settings.srv6_loop.empty())
    return invalid("device '" + config.name + "' has no loops: they need ev_mode srv6 and srv6_loop");
  const auto parsed = device::srv6_plan(config.settings, planes);
  if (!parsed) return parsed.error();
  const datapath::Srv6Plan* const plan = parsed->get();
  for (uint32_t p = 0; p < planes; ++p) {
    const IpAddress& own = config.planes[p].addr;
    const size_t tail = datapath::usids_of(own).size();
    std::set<uint16_t> t0s;
    for (const datapath::SegmentPath& loop : plan->loops(mrc::plane_at(p), own)) {
      datapath::UsidList usids = datapath::usids_of(loop.destination);
      if (loop.has_segment || usids.size() <= tail) continue;
      usids.resize(usids.size() - tail);
      const uint16_t t0 = usids.back();
      if (t0s.insert(t0).second)
        if (const auto near = datapath::compose_path({t0}, own)) paths.push_back({p + 1, t0, 0, near->destination});
      if (usids.size() > 1) paths.push_back({p + 1, t0, usids[usids.size() - 2], loop.destination});
    }
  }
  return paths;
}

Status LoopProber::open(const device::DeviceConfig& config, std::vector<LoopPath> paths) {
  paths_ = std::move(paths);
  states_.resize(paths_.size());
  std::random_device random;
  nonce_ = static_cast<uint64_t>(random()) << 32 | random();
  for (const device::PlaneConfig& plane : config.planes) {
    sockets_.emplace_back(::socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int fd = sockets_.back().get();
    const int one = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);  // arrival() can do without
    // The limit of the system may be lower; then the buffer is smaller.
    if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBytes, sizeof kReceiveBytes) != 0)
      ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
    sockaddr_in6 at = socket_address(plane.addr, 0);
    socklen_t size = sizeof at;
    if (fd < 0 || ::setsockopt(fd, SOL_UDP, UDP_NO_CHECK6_TX, &one, sizeof one) != 0 ||
        ::setsockopt(fd, SOL_UDP, UDP_NO_CHECK6_RX, &one, sizeof one) != 0 ||
        ::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0)
      return failed_call("probes of plane " + plane.addr.to_string());
    ports_.push_back(ntohs(at.sin6_port));
  }
  return {};
}

// A probe that cannot be sent is a lost one: the host's own port is part of the path.
void LoopProber::send(size_t path) {
  PathState& state = states_[path];
  const Payload payload{kMagic, static_cast<uint32_t>(path), state.next, 0, nonce_};
  const size_t plane = paths_[path].plane - 1;
  const sockaddr_in6 to = socket_address(paths_[path].destination, ports_[plane]);
  state.sent.push_back({state.next++, device::clock_now(), false, Duration()});
  [[maybe_unused]] const ssize_t sent = ::sendto(sockets_[plane].get(), &payload, sizeof payload, MSG_DONTWAIT,
                                                 reinterpret_cast<const sockaddr*>(&to), sizeof to);
}

void LoopProber::receive(int socket) {
  for (int i = 0; i < kMaxAnswersAtOnce; ++i) {
    Payload payload;
    iovec part{&payload, sizeof payload};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(timespec))> control;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t n = ::recvmsg(socket, &message, MSG_DONTWAIT);
    const Instant taken = device::clock_now();
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) continue;  // error of an earlier probe; the socket stays usable
    if (n != sizeof payload || payload.magic != kMagic || payload.nonce != nonce_ || payload.path >= states_.size())
      continue;
    for (Sent& sent : states_[payload.path].sent)
      if (sent.number == payload.number && !sent.answered) {
        sent.answered = true;
        sent.rtt = arrival(&message, sent.at, taken) - sent.at;
      }
  }
}

void LoopProber::collect(const std::function<void(const Outcome&)>& report) {
  for (const Fd& socket : sockets_) receive(socket.get());
  const Instant end = device::clock_now();
  for (size_t path = 0; path < states_.size(); ++path) {
    std::deque<Sent>& sent = states_[path].sent;
    while (!sent.empty() && (sent.front().answered || end - sent.front().at >= kProbeTimeout)) {
      const Sent first = sent.front();
      sent.pop_front();
      report({path, first.answered, first.rtt});
    }
  }
}

size_t LoopProber::open_probes() const {
  size_t count = 0;
  for (const PathState& state : states_) count += state.sent.size();
  return count;
}

}  // namespace mrc::mrcd
