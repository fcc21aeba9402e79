#include "datapath/udp/tx.h"

#include <netinet/udp.h>

#include <cassert>
#include <cerrno>

#include "datapath/udp/group_sockets.h"
#include "invariant.h"

namespace mrc::datapath {

Status UdpTransmitter::open(const UdpConfig& config, const UdpSyscalls& sys, PlaneSet gso_planes, PlaneSet closed,
                            int epoll_fd) {
  sys_ = &sys;
  no_gso_ = PlaneSet::all() - gso_planes;
  if (config.srv6_encap == Srv6Encap::kNone) srv6_ = config.srv6;  // else datagrams go to the peers' own addresses
  planes_.resize(config.planes.size());
  blocked_.open(planes_.size(), epoll_fd);
  for (const PlaneId p : planes_.ids() - closed) planes_[p].scope = interface_of(config.planes[p].addr).index;
  return sockets_.open(config, sys, closed, srv6_ != nullptr ? no_gso_ : PlaneSet());
}

Status UdpTransmitter::open_plane(PlaneId p, const HostPlane& plane) {
  if (Status opened = sockets_.open_plane(p, plane, srv6_ != nullptr && no_gso_.contains(p)); !opened) return opened;
  planes_[p].scope = interface_of(plane.addr).index;
  return {};
}

std::optional<IpAddress> UdpTransmitter::find_destination(const wire::Flow& flow, PlaneId plane,
                                                          SourceSockets::Socket* socket) {
  if (srv6_ == nullptr) return flow.dst;
  if (flow.dst != socket->peer || socket->peer_via.is_zero()) {
    const SegmentPath path = srv6_->path(plane, socket->number, flow.dst);
    if (path.has_segment) return std::nullopt;  // a socket has no SRH of its own per message
    socket->peer = flow.dst;
    socket->peer_via = path.destination;
  }
  return socket->peer_via;
}

void UdpTransmitter::prepare(const wire::Flow& flow, const IpAddress& to, uint32_t scope, uint32_t gso_segment,
                             SourceSockets::Socket* socket) {
  header_.set_address(to, flow.dst_port, scope, flow.flow_label);
  if (socket != nullptr && socket->connection.use(*sys_, socket->fd.get(), flow, header_)) {
    header_.omit_address();
  } else {
    const bool v4 = flow.dst.is_v4();
    const int traffic_class = flow.traffic_class;
    header_.add_control(v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &traffic_class,
                        sizeof(traffic_class));
  }
  if (gso_segment != 0) {
    const auto segment = static_cast<uint16_t>(gso_segment);
    header_.add_control(IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment));
  }
}

bool UdpTransmitter::send(const core::TxBurst& burst, DatapathCounters* counters) {
  const Checked checked(this);
  assert(sockets_.has(burst.ev_index) && planes_.has(burst.plane));
  Plane& plane = planes_[burst.plane];
  if (blocked_.contains(burst.plane) || (has_rest_.contains(burst.plane) && !flush_rest(burst.plane, counters))) {
    ++counters->tx_no_room;
    return false;
  }
  errors_.set_destination(burst.plane, burst.flow.dst);
  if (burst.flow.dst.is_multicast()) return send_to_group(burst, &plane, counters);
  SourceSockets::Socket* socket = &sockets_[burst.ev_index];
  int fd = socket->fd.get();
  bool many = burst.segments > 1;
  const std::optional<IpAddress> to = find_destination(burst.flow, burst.plane, socket);
  if (!to) {
    errors_.note(EMSGSIZE);
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
    if (send_split(burst, *to, socket, counters)) sent = Sent::kAll;
    // Packets that also fail singly (longer than the MTU, for example) are no reason to disable GSO.
    if (sent == Sent::kAll && counters->tx_errors == errors) no_gso_.insert(burst.plane);
  }
  if (sent == Sent::kAll) {
    ++counters->tx_bursts;
    if (has_rest_.contains(burst.plane)) blocked_.block(burst.plane, fd);
    return true;
  }
  ++counters->tx_no_room;
  blocked_.block(burst.plane, fd);
  return false;
}

bool UdpTransmitter::send_to_group(const core::TxBurst& burst, Plane* plane, DatapathCounters* counters) {
  assert(burst.segments == 1 && plane->group_fd);
  const bool v4 = burst.flow.dst.is_v4();
  const int hop_limit = burst.hop_limit;
  prepare(burst.flow, burst.flow.dst, plane->scope, 0, nullptr);
  if (hop_limit > 1)  // the sockets' own is 1
    header_.add_control(v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_HOPLIMIT, &hop_limit, sizeof(hop_limit));
  const int fd = plane->group_fd.get();
  if (send_one(fd, burst.iov.data(), burst.iov_count, burst.segments, burst.bytes, counters) == Sent::kAll) {
    ++counters->tx_bursts;
    return true;
  }
  ++counters->tx_no_room;
  blocked_.block(burst.plane, fd);
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
  header_.apply(&msg);
  msg.msg_iov = const_cast<iovec*>(iov);
  msg.msg_iovlen = iov_count;
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
  errors_.note_refusal(errno);
  counters->tx_errors += segments;
  return Sent::kAll;
}

PlaneSet UdpTransmitter::planes_with_room(DatapathCounters* counters) {
  blocked_.poll();
  for (const PlaneId p : has_rest_ - blocked_.planes()) flush_rest(p, counters);
  MRC_INVARIANT(blocked_.planes().contains_all(has_rest_));
  check();
  return planes_.ids() - blocked_.planes();
}

bool UdpTransmitter::send_split(const core::TxBurst& burst, const IpAddress& to, SourceSockets::Socket* socket,
                                DatapathCounters* counters) {
  Plane& plane = planes_[burst.plane];
  prepare(burst.flow, to, plane.scope, 0, socket);
  split_.cut(burst.iov.data(), burst.iov_count, burst.segment_size, burst.bytes, &header_);
  const uint32_t sent = split_.send(*sys_, socket->fd.get(), &errors_, counters);
  if (sent == split_.segments()) return true;
  if (sent == 0) return false;
  plane.rest.assign(burst, sent);
  plane.rest_to = to;
  plane.rest_fd = socket->fd.get();
  has_rest_.insert(burst.plane);
  return true;
}

bool UdpTransmitter::flush_rest(PlaneId id, DatapathCounters* counters) {
  Plane& plane = planes_[id];
  HeldBurst& rest = plane.rest;
  errors_.set_destination(id, rest.flow().dst);
  prepare(rest.flow(), plane.rest_to, plane.scope, 0, nullptr);
  const iovec whole = rest.whole();
  split_.cut(&whole, 1, rest.segment_size(), rest.bytes(), &header_);
  const uint32_t sent = split_.send(*sys_, plane.rest_fd, &errors_, counters);
  if (sent == split_.segments()) {
    has_rest_.erase(id);
    return true;
  }
  rest.drop(sent);
  blocked_.block(id, plane.rest_fd);
  return false;
}

void UdpTransmitter::check() const {
  if constexpr (!kCheckInvariants) return;
  for (const PlaneId p : has_rest_) {
    MRC_INVARIANT(planes_.has(p));
    const Plane& plane = planes_[p];
    MRC_INVARIANT(plane.rest.plane() == p && plane.rest.bytes() > 0 && plane.rest_fd >= 0);
  }
}

}  // namespace mrc::datapath
