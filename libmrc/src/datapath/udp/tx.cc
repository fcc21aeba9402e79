#include "datapath/udp/tx.h"

#include <netinet/udp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "datapath/udp/group_sockets.h"
#include "datapath/udp/port_guard.h"

namespace mrc::datapath {

namespace {

// The source ports for entropy value `number` of a plane [MRC-SR-25].
PortRange ports_of(const UdpConfig& config, uint32_t number) {
  const uint32_t paths = config.srv6->max_path_count();
  return config.source_ports.part(number % paths, paths);
}

// The first one to be tried: processes begin at different ports, and the planes' sockets behind one another.
uint32_t first_port(const UdpConfig& config, uint32_t number) {
  return (static_cast<uint32_t>(::getpid()) * 0x9E3779B1u >> 16) + number / config.srv6->max_path_count();
}

// The socket of entropy value `number` of a plane.
Result<GuardedUdp> open_source(const UdpConfig& config, const UdpSyscalls& sys, const core::EvEntry& ev,
                               uint32_t number, bool guarded) {
  const HostPlane& plane = config.planes[ev.plane];
  const auto port = static_cast<uint16_t>(ev.value);
  if (config.srv6_encap == Srv6Encap::kKernel)
    return open_in_range(sys, {plane.addr, 0, plane.interface, false}, ports_of(config, number),
                         first_port(config, number), guarded);
  if (port == 0 && guarded) return open_guarded_udp(sys, plane.addr, plane.interface);
  Result<BoundUdp> bound = open_udp(sys, {plane.addr, port, plane.interface, port != 0});
  if (!bound) return std::move(bound).error();
  return GuardedUdp{*std::move(bound), Fd()};
}

// The port of that socket alone, on a plane that is closed: EVs do not change when it is opened.
Result<GuardedUdp> hold_source(const UdpConfig& config, const UdpSyscalls& sys, const core::EvEntry& ev,
                               uint32_t number) {
  GuardedUdp held;
  held.port = static_cast<uint16_t>(ev.value);
  const bool by_path = config.srv6_encap == Srv6Encap::kKernel;
  if (held.port != 0 && !by_path) return held;
  Result<BoundUdp> guard =
      by_path ? hold_in_range(sys, ports_of(config, number), first_port(config, number)) : hold_port(sys, 0);
  if (!guard) return std::move(guard).error();
  held.port = guard->port;
  held.guard = std::move(guard->fd);
  return held;
}

}  // namespace

Status UdpTransmitter::open(const UdpConfig& config, const UdpSyscalls& sys, PlaneSet gso_planes, PlaneSet closed,
                            int epoll_fd) {
  sys_ = &sys;
  epoll_fd_ = epoll_fd;
  no_gso_ = PlaneSet::all() - gso_planes;
  evs_ = config.evs;
  if (config.srv6_encap == Srv6Encap::kNone) srv6_ = config.srv6;  // else datagrams go to the peers' own addresses
  planes_.resize(config.planes.size());
  PerPlane<uint32_t> evs_of_plane(planes_.size());
  descriptors_ = make_descriptor_room(evs_.size(), config.engines);
  structured_ev_ = config.structured_ev;
  sndbuf_ = config.sndbuf;
  for (const PlaneId p : planes_.ids() - closed) planes_[p].scope = interface_of(config.planes[p].addr).index;
  for (const EvIndex i : evs_.ids()) {
    core::EvEntry& ev = evs_[i];
    if (!config.planes.has(ev.plane))
      return invalid("EV " + std::to_string(i.value()) + ": no plane " + std::to_string(port_of(ev.plane)));
    const bool chosen = static_cast<uint16_t>(ev.value) != 0;
    const uint32_t number = evs_of_plane[ev.plane]++;
    const bool is_closed = closed.contains(ev.plane);
    Result<GuardedUdp> opened = is_closed ? hold_source(config, sys, ev, number)
                                          : open_source(config, sys, ev, number, descriptors_.for_guards);
    if (!opened)
      return std::move(opened).error().under("EV " + std::to_string(i.value()) + " on plane " +
                                             std::to_string(port_of(ev.plane)) + ": ");
    ev.value = (ev.value & 0xFFFF0000u) | opened->port;
    if (!is_closed)
      if (Status prepared = prepare_socket(opened->fd.get(), ev, config.planes[ev.plane].addr); !prepared)
        return prepared;
    sockets_.emplace_back();
    if (!chosen && !opened->guard) ++unguarded_;
    sockets_.back().fd = move_descriptor(std::move(opened->fd), descriptors_.lowest);
    sockets_.back().guard = move_descriptor(std::move(opened->guard), descriptors_.lowest);
    sockets_.back().number = number;
  }
  return {};
}

Status UdpTransmitter::prepare_socket(int fd, const core::EvEntry& ev, const IpAddress& addr) {
  granted_ = std::min(granted_, grow_buffer(*sys_, fd, false, sndbuf_));
  shrink_receive_buffer(*sys_, fd);  // nothing is ever read from a transmit socket
  if (structured_ev_ && !addr.is_v4()) lease_flow_label(*sys_, fd, ev.value >> 16);
  int on = 1;
  if (srv6_ != nullptr && no_gso_.contains(ev.plane) &&
      sys_->setsockopt(fd, SOL_UDP, UDP_NO_CHECK6_TX, &on, sizeof(on)) != 0)
    return failed_call("cannot send without a UDP checksum, as SRv6 needs");
  return {};
}

// All sockets or none. Where descriptors are few, the guards have served their purpose.
Status UdpTransmitter::open_plane(PlaneId p, const HostPlane& plane) {
  std::vector<std::pair<EvIndex, Fd>> opened;
  for (const EvIndex i : evs_.ids()) {
    const core::EvEntry& ev = evs_[i];
    if (ev.plane != p) continue;
    const auto port = static_cast<uint16_t>(ev.value);
    const Fd& guard = sockets_[i].guard;
    Result<BoundUdp> bound = guard ? open_held(*sys_, plane.addr, plane.interface, port, guard.get())
                                   : open_udp(*sys_, {plane.addr, port, plane.interface, true});
    if (!bound) return std::move(bound).error();
    if (Status prepared = prepare_socket(bound->fd.get(), ev, plane.addr); !prepared) return prepared;
    opened.emplace_back(i, move_descriptor(std::move(bound->fd), descriptors_.lowest));
  }
  for (auto& [i, fd] : opened) {
    sockets_[i].fd = std::move(fd);
    if (descriptors_.for_guards || !sockets_[i].guard) continue;
    sockets_[i].guard = Fd();
    ++unguarded_;
  }
  planes_[p].scope = interface_of(plane.addr).index;
  return {};
}

std::optional<IpAddress> UdpTransmitter::find_way(const wire::Flow& flow, PlaneId plane, Socket* socket) {
  if (srv6_ == nullptr) return flow.dst;
  if (flow.dst != socket->peer || socket->peer_via.is_zero()) {
    const SegmentPath path = srv6_->path(plane, socket->number, flow.dst);
    if (path.has_segment) return std::nullopt;  // a socket has no SRH of its own per message
    socket->peer = flow.dst;
    socket->peer_port = 0;  // a new streak
    socket->peer_via = path.destination;
  }
  return socket->peer_via;
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
  if (blocked_.contains(burst.plane) || (resting_.contains(burst.plane) && !flush_rest(burst.plane, counters))) {
    ++counters->tx_no_room;
    return false;
  }
  going_by_ = burst.plane;
  going_to_ = burst.flow.dst;
  if (burst.flow.dst.is_multicast()) return send_to_group(burst, &plane, counters);
  Socket* socket = &sockets_[burst.ev_index];
  int fd = socket->fd.get();
  bool many = burst.segments > 1;
  const std::optional<IpAddress> to = find_way(burst.flow, burst.plane, socket);
  if (!to) {
    note_error(EMSGSIZE);
    counters->tx_errors += burst.segments;
    ++counters->tx_bursts;
    return true;
  }
  Sent sent = Sent::kUnsupported;
  if (!many || !no_gso_.contains(burst.plane)) {
    prepare(burst.flow, *to, plane.scope, many ? burst.segment_size : 0, socket);
    sent = send_one(fd, burst.iov.data(), burst.iov_count, burst.segments, burst.bytes, counters);
  }
  if (sent == Sent::kUnsupported) {
    uint64_t errors = counters->tx_errors;
    if (send_split(&plane, socket, burst, *to, counters)) sent = Sent::kAll;
    // Packets that also fail singly (longer than the MTU, for example) are no reason to disable GSO.
    if (sent == Sent::kAll && counters->tx_errors == errors) no_gso_.insert(burst.plane);
  }
  if (sent == Sent::kAll) {
    ++counters->tx_bursts;
    if (resting_.contains(burst.plane)) block(burst.plane, fd);
    return true;
  }
  ++counters->tx_no_room;
  block(burst.plane, fd);
  return false;
}

bool UdpTransmitter::send_to_group(const core::TxBurst& burst, Plane* plane, DatapathCounters* counters) {
  assert(burst.segments == 1 && plane->group_fd);
  const bool v4 = burst.flow.dst.is_v4();
  const int hop_limit = burst.hop_limit;
  prepare(burst.flow, burst.flow.dst, plane->scope, 0, nullptr);
  if (hop_limit > 1)  // the sockets' own is 1
    add_control(v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_HOPLIMIT, &hop_limit, sizeof(hop_limit));
  const int fd = plane->group_fd.get();
  if (send_one(fd, burst.iov.data(), burst.iov_count, burst.segments, burst.bytes, counters) == Sent::kAll) {
    ++counters->tx_bursts;
    return true;
  }
  ++counters->tx_no_room;
  block(burst.plane, fd);
  return false;
}

Result<PerPlane<core::PlaneAddress>> UdpTransmitter::open_group_sources(const PerPlane<HostPlane>& planes) {
  PerPlane<core::PlaneAddress> sources;
  for (const PlaneId p : planes_.ids()) {
    Plane& plane = planes_[p];
    if (!plane.group_fd) {
      if (planes[p].addr.is_zero())
        return Error{EADDRNOTAVAIL, "multicast needs all planes, and plane " + std::to_string(port_of(p)) + " is out"};
      Result<BoundUdp> opened = open_group_source(*sys_, planes[p]);
      if (!opened) return std::move(opened).error().under("multicast on plane " + std::to_string(port_of(p)) + ": ");
      plane.group_source = {group_source_address(planes[p].addr), opened->port};
      plane.group_fd = std::move(opened->fd);
      shrink_receive_buffer(*sys_, plane.group_fd.get());
    }
    sources.push_back(plane.group_source);
  }
  return sources;
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

PlaneSet UdpTransmitter::planes_with_room(DatapathCounters* counters) {
  for (const PlaneId p : blocked_) {
    pollfd check{planes_[p].blocked_fd, POLLOUT, 0};
    if (::poll(&check, 1, 0) == 1) unblock(p);
  }
  for (const PlaneId p : resting_ - blocked_) flush_rest(p, counters);
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
  too_long_ = {going_by_, going_to_};
}

void UdpTransmitter::note_error(int error) {
  if (first_error_.empty()) first_error_ = std::strerror(error);
}

}  // namespace mrc::datapath
