#include "datapath/raw/raw_tx.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "datapath/burst_parts.h"

namespace mrc::datapath {

Status RawTransmitter::open(const HostConfig& config, int epoll_fd) {
  sndbuf_ = config.sndbuf;
  planes_.resize(config.planes.size());
  blocked_.open(planes_.size(), epoll_fd);
  return paths_.open(config);
}

Status RawTransmitter::open_plane(PlaneId p, const PacketSockets& sockets, XdpPlane* xdp) {
  Plane& plane = planes_[p];
  if (Status opened = plane.hops.open(sockets.interface().index); !opened) return opened;
  plane.sockets = &sockets;
  if (xdp != nullptr) {
    plane.sender = &xdp->sender();
    (void)grow_buffer(kernel_syscalls(), plane.sender->room_fd(), false, sndbuf_);
    return {};
  }
  plane.batch = std::make_unique<PacketBatch>();
  plane.batch->open(sockets.frame_fd(), sockets.interface().mtu + kEthernetBytes);
  plane.sender = plane.batch.get();
  return {};
}

bool RawTransmitter::send(Instant now, const core::TxBurst& burst, DatapathCounters* counters) {
  assert(planes_.has(burst.plane));
  if (blocked_.contains(burst.plane)) {
    ++counters->tx_no_room;
    return false;
  }
  const SegmentPath& way = paths_.path(burst.flow, burst.plane, burst.ev_index);
  Cutter cutter{burst};
  begin(&segment_, burst);
  uint32_t left = burst.bytes;
  for (uint32_t i = 0; i < burst.segments; ++i) {
    const uint32_t size = std::min(burst.segment_size, left);
    cutter.next(size, &segment_);
    left -= size;
    const Sent sent = send_packet(now, burst.plane, segment_, way, counters);
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

RawTransmitter::Sent RawTransmitter::send_packet(Instant now, PlaneId plane, const core::TxBurst& packet,
                                                 const SegmentPath& path, DatapathCounters* counters) {
  write_header(paths_.as_sent(packet.flow), path, packet.bytes, &header_);
  const MacAddress* mac = planes_[plane].hops.find(path.destination, now);
  Sent sent;
  if (mac != nullptr) {
    set_macs(*mac, planes_[plane].sockets->mac(), &header_);
    sent = send_frame(plane, packet, counters);
  } else {
    sent = send_by_kernel(plane, packet, path.destination, counters);
  }
  if (sent == Sent::kYes) {
    ++counters->tx_packets;
    counters->tx_bytes += packet.bytes;
  }
  return sent;
}

RawTransmitter::Sent RawTransmitter::send_frame(PlaneId plane, const core::TxBurst& packet,
                                                DatapathCounters* counters) {
  FrameSender* sender = planes_[plane].sender;
  if (header_.length + packet.bytes > sender->largest_frame()) {
    if (first_error_.empty()) first_error_ = std::strerror(EMSGSIZE);
    return Sent::kRefused;
  }
  uint8_t* room = sender->reserve();
  if (room == nullptr) {
    flush(plane, counters);
    room = sender->reserve();
  }
  if (room == nullptr) {
    blocked_.block(plane, sender->room_fd());
    return Sent::kNoRoom;
  }
  std::copy_n(header_.bytes.data(), header_.length, room);
  flatten(packet, room + header_.length);
  sender->commit(header_.length, packet.bytes);
  unsent_.insert(plane);
  return Sent::kYes;
}

// Not before the frames of the same path that wait.
RawTransmitter::Sent RawTransmitter::send_by_kernel(PlaneId plane, const core::TxBurst& packet, const IpAddress& to,
                                                    DatapathCounters* counters) {
  flush(plane, counters);
  const PacketSockets& sockets = *planes_[plane].sockets;
  SockAddr address;
  msghdr msg{};
  iov_[0] = {const_cast<uint8_t*>(header_.packet()), header_.packet_length()};
  std::copy_n(packet.iov.begin(), packet.iov_count, iov_.begin() + 1);
  msg.msg_name = &address;
  msg.msg_namelen = to_sockaddr(to, 0, sockets.interface().index, 0, &address);
  msg.msg_iov = iov_.data();
  msg.msg_iovlen = packet.iov_count + 1;
  ssize_t n;
  do {
    ++counters->tx_calls;
    n = ::sendmsg(sockets.packet_fd(), &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n >= 0) return Sent::kYes;
  if (errno == EAGAIN) {
    blocked_.block(plane, sockets.packet_fd());
    return Sent::kNoRoom;
  }
  if (first_error_.empty()) first_error_ = std::strerror(errno);
  return Sent::kRefused;
}

void RawTransmitter::flush(PlaneId plane, DatapathCounters* counters) {
  if (!unsent_.contains(plane)) return;
  FrameSender* sender = planes_[plane].sender;
  sender->flush(counters);
  if (!sender->unsent()) unsent_.erase(plane);
}

void RawTransmitter::flush(DatapathCounters* counters) {
  looked_ = false;
  flush_turn_.for_each(unsent_, [&](PlaneId p) { flush(p, counters); });
}

PlaneSet RawTransmitter::planes_with_room(DatapathCounters* counters) {
  for (const PlaneId p : looked_ ? PlaneSet() : blocked_.poll()) flush(p, counters);
  looked_ = true;
  return planes_.ids() - blocked_.planes();
}

std::string RawTransmitter::first_error() const {
  if (!first_error_.empty()) return first_error_;
  for (const Plane& plane : planes_)
    if (plane.sender != nullptr && !plane.sender->first_error().empty()) return plane.sender->first_error();
  return "";
}

}  // namespace mrc::datapath
