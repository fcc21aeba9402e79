#include "datapath/raw/raw_tx.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "datapath/burst_parts.h"

namespace mrc::datapath {

Status RawTransmitter::open(const HostConfig& config, const std::vector<PacketSockets>& sockets,
                            const std::vector<std::unique_ptr<XdpPlane>>& xdp, int epoll_fd) {
  epoll_fd_ = epoll_fd;
  planes_.resize(sockets.size());
  for (size_t p = 0; p < planes_.size(); ++p) {
    planes_[p].sockets = &sockets[p];
    if (Status opened = planes_[p].hops.open(sockets[p].interface().index); !opened) return opened;
    if (xdp[p] == nullptr) continue;
    planes_[p].xsk = &xdp[p]->sender();
    planes_[p].xsk_watch = Fd(::dup(planes_[p].xsk->fd()));
    (void)grow_buffer(kernel_syscalls(), planes_[p].xsk->fd(), false, config.sndbuf);
  }
  return paths_.open(config);
}

bool RawTransmitter::send(const core::TxBurst& burst, DatapathCounters* counters) {
  assert(planes_.has(burst.plane));
  if (blocked_.contains(burst.plane)) {
    ++counters->tx_no_room;
    return false;
  }
  Plane* plane = &planes_[burst.plane];
  const SegmentPath& way = paths_.path(burst.flow, burst.plane, burst.ev_index);
  Cutter cutter{burst};
  begin(&segment_, burst);
  uint32_t left = burst.bytes;
  for (uint32_t i = 0; i < burst.segments; ++i) {
    const uint32_t size = std::min(burst.segment_size, left);
    cutter.next(size, &segment_);
    left -= size;
    const Sent sent = send_packet(plane, segment_, way, counters);
    if (sent == Sent::kNoRoom) block(burst.plane);
    if (sent == Sent::kNoRoom && i == 0) {
      ++counters->tx_no_room;
      return false;
    }
    // The rest of a burst that did not fit is dropped, as in a full switch: bursts here are single packets.
    if (sent == Sent::kNoRoom) {
      counters->tx_errors += burst.segments - i;
      break;
    }
    if (sent == Sent::kRefused) ++counters->tx_errors;
  }
  ++counters->tx_bursts;
  return true;
}

RawTransmitter::Sent RawTransmitter::send_packet(Plane* plane, const core::TxBurst& packet, const SegmentPath& path,
                                                 DatapathCounters* counters) {
  write_header(paths_.as_sent(packet.flow), path, packet.bytes, &header_);
  const MacAddress* mac = plane->hops.find(path.destination);
  msghdr msg{};
  SockAddr to;
  int fd = plane->sockets->frame_fd();
  if (mac != nullptr) {
    set_macs(*mac, plane->sockets->mac(), &header_);
    iov_[0] = {header_.bytes.data(), header_.length};
    if (plane->xsk != nullptr) return send_by_xdp(plane, packet, counters);
  } else {
    fd = plane->sockets->packet_fd();
    iov_[0] = {const_cast<uint8_t*>(header_.packet()), header_.packet_length()};
    msg.msg_name = &to;
    msg.msg_namelen = to_sockaddr(path.destination, 0, plane->sockets->interface().index, 0, &to);
  }
  std::copy_n(packet.iov.begin(), packet.iov_count, iov_.begin() + 1);
  msg.msg_iov = iov_.data();
  msg.msg_iovlen = packet.iov_count + 1;
  plane->blocked_fd = fd;
  ssize_t n;
  do {
    ++counters->tx_calls;
    n = ::sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n >= 0) {
    ++counters->tx_packets;
    counters->tx_bytes += packet.bytes;
    return Sent::kYes;
  }
  if (errno == EAGAIN) return Sent::kNoRoom;
  // ENOBUFS: the interface's queue is full and dropped the packet, as any queue on the way may.
  if (first_error_.empty()) first_error_ = std::strerror(errno);
  return Sent::kRefused;
}

RawTransmitter::Sent RawTransmitter::send_by_xdp(Plane* plane, const core::TxBurst& packet,
                                                 DatapathCounters* counters) {
  std::copy_n(packet.iov.begin(), packet.iov_count, iov_.begin() + 1);
  plane->blocked_fd = plane->xsk_watch.get();
  const bool taken = plane->xsk->send(iov_.data(), packet.iov_count + 1, header_.length + packet.bytes);
  ++counters->tx_calls;
  // The kernel takes frames as far as it has memory. The rest stays in the ring for the next call.
  (void)plane->xsk->kick();
  unsent_ = unsent_ || plane->xsk->unsent();
  if (!taken) return Sent::kNoRoom;
  ++counters->tx_packets;
  counters->tx_bytes += packet.bytes;
  return Sent::kYes;
}

void RawTransmitter::kick_again() {
  if (!unsent_) return;
  unsent_ = false;
  for (Plane& plane : planes_) {
    if (plane.xsk == nullptr || !plane.xsk->unsent()) continue;
    (void)plane.xsk->kick();
    unsent_ = unsent_ || plane.xsk->unsent();
  }
}

PlaneSet RawTransmitter::planes_with_room() {
  kick_again();
  for (const PlaneId p : blocked_) {
    pollfd check{planes_[p].blocked_fd, POLLOUT, 0};
    if (::poll(&check, 1, 0) == 1) unblock(p);
  }
  return planes_.ids() - blocked_;
}

void RawTransmitter::block(PlaneId plane) {
  Plane& p = planes_[plane];
  blocked_.insert(plane);
  const bool packet_socket = p.blocked_fd == p.sockets->packet_fd();
  epoll_event event{};
  event.events = EPOLLOUT | EPOLLONESHOT;
  event.data.u64 = kEpollTag + plane.value();
  bool& known = p.armed[packet_socket ? 1 : 0];
  (void)::epoll_ctl(epoll_fd_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, p.blocked_fd, &event);
  known = true;
}

}  // namespace mrc::datapath
