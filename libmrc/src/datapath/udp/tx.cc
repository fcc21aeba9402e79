#include "datapath/udp/tx.h"

#include <netinet/udp.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "datapath/udp/port_guard.h"

namespace mrc::datapath {

namespace {

constexpr uint32_t kSmallestBuffer = 2304;  // the kernel's minimum; nothing is ever read from a transmit socket

Result<GuardedUdp> open_unguarded(const UdpSyscalls& sys, const HostPlane& plane, uint16_t port) {
  Result<BoundUdp> bound = open_udp(sys, {plane.addr, port, plane.interface, port != 0});
  if (!bound) return std::move(bound).error();
  return GuardedUdp{*std::move(bound), Fd()};
}

}  // namespace

Status UdpTransmitter::open(const UdpConfig& config, const UdpSyscalls& sys, PlaneSet gso_planes, int epoll_fd) {
  sys_ = &sys;
  epoll_fd_ = epoll_fd;
  no_gso_ = PlaneSet::all() - gso_planes;
  evs_ = config.evs;
  srv6_ = config.srv6;
  planes_.resize(config.planes.size());
  PerPlane<uint32_t> evs_of_plane(planes_.size());
  const bool guarded = guards_fit(evs_.size());
  for (size_t p = 0; p < planes_.size(); ++p) planes_[p].scope = interface_of(config.planes[p].addr).index;
  for (size_t i = 0; i < evs_.size(); ++i) {
    core::EvEntry& ev = evs_[i];
    if (!config.planes.has(ev.plane))
      return invalid("EV " + std::to_string(i) + ": no plane " + std::to_string(port_of(ev.plane)));
    const HostPlane& plane = config.planes[ev.plane];
    uint16_t port = static_cast<uint16_t>(ev.value);
    Result<GuardedUdp> opened =
        port == 0 && guarded ? open_guarded_udp(sys, plane.addr, plane.interface) : open_unguarded(sys, plane, port);
    if (!opened)
      return std::move(opened).error().under("EV " + std::to_string(i) + " on plane " +
                                             std::to_string(port_of(ev.plane)) + ": ");
    Fd &fd = opened->fd, &guard = opened->guard;
    ev.value = (ev.value & 0xFFFF0000u) | opened->port;
    granted_ = std::min(granted_, grow_buffer(sys, fd.get(), false, config.sndbuf));
    int small = kSmallestBuffer;
    (void)sys.setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    if (config.structured_ev && !plane.addr.is_v4()) lease_flow_label(sys, fd.get(), ev.value >> 16);
    int on = 1;
    if (srv6_ != nullptr && !gso_planes.contains(ev.plane) &&
        sys.setsockopt(fd.get(), SOL_UDP, UDP_NO_CHECK6_TX, &on, sizeof(on)) != 0)
      return failed_call("cannot send without a UDP checksum, as SRv6 needs");
    sockets_.emplace_back();
    sockets_.back().fd = std::move(fd);
    if (port == 0 && !guard) ++unguarded_;
    sockets_.back().guard = std::move(guard);
    sockets_.back().number = evs_of_plane[ev.plane]++;
  }
  return {};
}

bool UdpTransmitter::find_way(const wire::Flow& flow, PlaneId plane, Socket* socket, IpAddress* to) {
  *to = flow.dst;
  if (srv6_ == nullptr) return true;
  if (flow.dst != socket->peer || socket->peer_via.is_zero()) {
    const SegmentPath path = srv6_->path(plane, socket->number, flow.dst);
    if (path.has_segment) return false;  // a socket has no SRH of its own per message
    socket->peer = flow.dst;
    socket->peer_port = 0;  // a new streak
    socket->peer_via = path.destination;
  }
  *to = socket->peer_via;
  return true;
}

bool UdpTransmitter::use_connection(const wire::Flow& flow, Socket* socket) {
  bool same = flow.dst_port == socket->peer_port && flow.dst == socket->peer;
  if (!same) {
    socket->peer = flow.dst;
    socket->peer_port = flow.dst_port;
    socket->streak = 0;
  } else if (socket->streak < kConnectAfter && ++socket->streak == kConnectAfter) {
    // Once per streak. When it fails, addresses stay explicit as before.
    if (sys_->connect(socket->fd.get(), &to_.sa, to_length_) == 0) {
      socket->connected_to = flow.dst;
      socket->connected_port = flow.dst_port;
    }
  }
  if (flow.dst_port != socket->connected_port || flow.dst != socket->connected_to) return false;
  if (socket->traffic_class == flow.traffic_class) return true;
  bool v4 = flow.dst.is_v4();
  int value = flow.traffic_class;
  if (sys_->setsockopt(socket->fd.get(), v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &value,
                       sizeof(value)) != 0)
    return false;
  socket->traffic_class = value;
  return true;
}

void UdpTransmitter::prepare(const wire::Flow& flow, const IpAddress& to, uint32_t scope, uint32_t gso_segment,
                             Socket* socket) {
  to_length_ = to_sockaddr(to, flow.dst_port, scope, flow.flow_label, &to_);
  control_length_ = 0;
  if (socket != nullptr && use_connection(flow, socket)) {
    to_length_ = 0;
  } else {
    bool v4 = flow.dst.is_v4();
    int traffic_class = flow.traffic_class;
    add_control(v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &traffic_class, sizeof(traffic_class));
  }
  if (gso_segment != 0) {
    uint16_t segment = static_cast<uint16_t>(gso_segment);
    add_control(IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment));
  }
}

void UdpTransmitter::add_control(int level, int type, const void* value, size_t size) {
  auto* c = reinterpret_cast<cmsghdr*>(control_.bytes.data() + control_length_);
  c->cmsg_level = level;
  c->cmsg_type = type;
  c->cmsg_len = CMSG_LEN(size);
  std::memcpy(CMSG_DATA(c), value, size);
  control_length_ += CMSG_SPACE(size);
}

bool UdpTransmitter::send(const core::TxBurst& burst, DatapathCounters* counters) {
  assert(sockets_.has(burst.ev_index) && planes_.has(burst.plane));
  Plane& plane = planes_[burst.plane];
  if (blocked_.contains(burst.plane) || (plane.rest_bytes != 0 && !flush_rest(burst.plane, counters))) {
    ++counters->tx_no_room;
    return false;
  }
  going_by_ = burst.plane;
  going_to_ = burst.flow.dst;
  Socket* socket = &sockets_[burst.ev_index];
  int fd = socket->fd.get();
  bool many = burst.segments > 1;
  IpAddress to;
  if (!find_way(burst.flow, burst.plane, socket, &to)) {
    note_error(EMSGSIZE);
    counters->tx_errors += burst.segments;
    ++counters->tx_bursts;
    return true;
  }
  Sent sent = Sent::kUnsupported;
  if (!many || !no_gso_.contains(burst.plane)) {
    prepare(burst.flow, to, plane.scope, many ? burst.segment_size : 0, socket);
    sent = send_one(fd, burst.iov.data(), burst.iov_count, burst.segments, burst.bytes, counters);
  }
  if (sent == Sent::kUnsupported) {
    uint64_t errors = counters->tx_errors;
    if (send_split(&plane, socket, burst, to, counters)) sent = Sent::kAll;
    // Packets that also fail singly (longer than the MTU, for example) are no reason to disable GSO.
    if (sent == Sent::kAll && counters->tx_errors == errors) no_gso_.insert(burst.plane);
  }
  if (sent == Sent::kAll) {
    ++counters->tx_bursts;
    if (plane.rest_bytes != 0) block(burst.plane, fd);
    return true;
  }
  ++counters->tx_no_room;
  block(burst.plane, fd);
  return false;
}

UdpTransmitter::Sent UdpTransmitter::send_one(int fd, const iovec* iov, uint32_t iov_count, uint32_t segments,
                                              uint32_t bytes, DatapathCounters* counters) {
  msghdr msg{};
  msg.msg_name = to_length_ != 0 ? &to_ : nullptr;
  msg.msg_namelen = to_length_;
  msg.msg_iov = const_cast<iovec*>(iov);
  msg.msg_iovlen = iov_count;
  msg.msg_control = control_length_ != 0 ? control_.bytes.data() : nullptr;
  msg.msg_controllen = control_length_;
  ssize_t n;
  int tries = 0;
  do {
    ++counters->tx_calls;
    n = sys_->sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    // ECONNREFUSED concerns an earlier packet (an ICMP message arrived for it); this one was not tried.
  } while (n < 0 && (errno == EINTR || (errno == ECONNREFUSED && ++tries == 1)));
  if (n >= 0) {
    counters->tx_packets += segments;
    counters->tx_bytes += bytes;
    return Sent::kAll;
  }
  if (errno == EAGAIN) return Sent::kNoRoom;
  // EIO: the interface has no checksum offload. EINVAL: this kernel refuses the combination. Packet by packet works.
  if (segments > 1 && (errno == EIO || errno == EINVAL || errno == EOPNOTSUPP)) return Sent::kUnsupported;
  note_refusal(errno);
  counters->tx_errors += segments;
  return Sent::kAll;
}

// Cuts an iovec array at segment boundaries into msgs_/iovs_; returns the number of segments.
uint32_t UdpTransmitter::split(const iovec* iov, uint32_t iov_count, uint32_t segment_size, uint32_t bytes) {
  uint32_t segments = 0;
  uint32_t pieces = 0;
  uint32_t at = 0;  // index into iov
  size_t offset = 0;
  while (bytes > 0 && segments < core::kMaxSegments) {
    uint32_t left = std::min(segment_size, bytes);
    bytes -= left;
    sizes_[segments] = left;
    msghdr& msg = msgs_[segments].msg_hdr;
    msg = {};
    msg.msg_name = to_length_ != 0 ? &to_ : nullptr;
    msg.msg_namelen = to_length_;
    msg.msg_control = control_length_ != 0 ? control_.bytes.data() : nullptr;
    msg.msg_controllen = control_length_;
    msg.msg_iov = &iovs_[pieces];
    while (left > 0 && at < iov_count) {
      size_t take = std::min<size_t>(left, iov[at].iov_len - offset);
      if (take > 0) iovs_[pieces++] = {static_cast<uint8_t*>(iov[at].iov_base) + offset, take};
      left -= static_cast<uint32_t>(take);
      offset += take;
      if (offset == iov[at].iov_len) {
        ++at;
        offset = 0;
      }
    }
    msg.msg_iovlen = static_cast<size_t>(&iovs_[pieces] - msg.msg_iov);
    ++segments;
  }
  return segments;
}

UdpTransmitter::Sent UdpTransmitter::send_many(int fd, uint32_t* first, uint32_t segments, DatapathCounters* counters) {
  int refused = 0;
  while (*first < segments) {
    ++counters->tx_calls;
    int n = sys_->sendmmsg(fd, &msgs_[*first], segments - *first, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR || (errno == ECONNREFUSED && ++refused == 1)) continue;
      if (errno == EAGAIN) return Sent::kNoRoom;
      note_refusal(errno);
      ++counters->tx_errors;
      n = 1;  // this one is lost; the others may pass
    } else {
      counters->tx_packets += static_cast<uint32_t>(n);
      for (int i = 0; i < n; ++i) counters->tx_bytes += sizes_[*first + static_cast<uint32_t>(i)];
    }
    *first += static_cast<uint32_t>(n);
  }
  return Sent::kAll;
}

// True: the burst is taken, whole or with its rest kept in plane->rest.
bool UdpTransmitter::send_split(Plane* plane, Socket* socket, const core::TxBurst& burst, const IpAddress& to,
                                DatapathCounters* counters) {
  int fd = socket->fd.get();
  prepare(burst.flow, to, plane->scope, 0, socket);
  uint32_t segments = split(burst.iov.data(), burst.iov_count, burst.segment_size, burst.bytes);
  uint32_t first = 0;
  if (send_many(fd, &first, segments, counters) == Sent::kAll) return true;
  if (first == 0) return false;
  if (plane->rest.empty()) plane->rest.resize(65536);  // once per plane
  uint32_t bytes = 0;
  for (uint32_t i = first; i < segments; ++i) {
    const msghdr& msg = msgs_[i].msg_hdr;
    for (size_t k = 0; k < msg.msg_iovlen; ++k) {
      std::memcpy(plane->rest.data() + bytes, msg.msg_iov[k].iov_base, msg.msg_iov[k].iov_len);
      bytes += static_cast<uint32_t>(msg.msg_iov[k].iov_len);
    }
  }
  plane->rest_bytes = bytes;
  plane->rest_segment = burst.segment_size;
  plane->rest_flow = burst.flow;
  plane->rest_to = to;
  plane->rest_fd = fd;
  return true;
}

bool UdpTransmitter::flush_rest(PlaneId id, DatapathCounters* counters) {
  Plane* const plane = &planes_[id];
  going_by_ = id;
  going_to_ = plane->rest_flow.dst;
  prepare(plane->rest_flow, plane->rest_to, plane->scope, 0, nullptr);
  iovec whole{plane->rest.data(), plane->rest_bytes};
  uint32_t segments = split(&whole, 1, plane->rest_segment, plane->rest_bytes);
  uint32_t first = 0;
  Sent sent = send_many(plane->rest_fd, &first, segments, counters);
  if (sent == Sent::kAll) {
    plane->rest_bytes = 0;
    return true;
  }
  uint32_t done = std::min(first * plane->rest_segment, plane->rest_bytes);
  std::memmove(plane->rest.data(), plane->rest.data() + done, plane->rest_bytes - done);
  plane->rest_bytes -= done;
  block(id, plane->rest_fd);
  return false;
}

PlaneSet UdpTransmitter::planes_with_room(DatapathCounters* counters) {
  for (const PlaneId p : blocked_) {
    pollfd check{planes_[p].blocked_fd, POLLOUT, 0};
    if (::poll(&check, 1, 0) == 1) unblock(p);
  }
  for (const PlaneId p : planes_.ids())
    if (planes_[p].rest_bytes != 0 && !blocked_.contains(p)) flush_rest(p, counters);
  return planes_.ids() - blocked_;
}

void UdpTransmitter::block(PlaneId plane, int fd) {
  Plane& p = planes_[plane];
  blocked_.insert(plane);
  p.blocked_fd = fd;
  epoll_event event{};
  event.events = EPOLLOUT | EPOLLONESHOT;
  event.data.u64 = kEpollTag + plane.value();
  bool known = std::find(p.armed.begin(), p.armed.end(), fd) != p.armed.end();
  if (!known) p.armed.push_back(fd);
  (void)::epoll_ctl(epoll_fd_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
}

void UdpTransmitter::note_refusal(int error) {
  note_error(error);
  if (error != EMSGSIZE) return;
  too_long_ = true;
  too_long_by_ = going_by_;
  too_long_to_ = going_to_;
}

void UdpTransmitter::note_error(int error) {
  if (first_error_.empty()) first_error_ = std::strerror(error);
}

}  // namespace mrc::datapath
