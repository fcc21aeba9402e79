// Bursts without segmentation offload: each packet is a message of its own, and one sendmmsg sends them all. Of a burst
// that the socket has taken in part the rest is kept.
#include <algorithm>
#include <cerrno>

#include "datapath/udp/tx.h"

namespace mrc::datapath {

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
  plane->rest.assign(burst, first);
  resting_.insert(burst.plane);
  plane->rest_to = to;
  plane->rest_fd = fd;
  return true;
}

bool UdpTransmitter::flush_rest(PlaneId id, DatapathCounters* counters) {
  Plane* const plane = &planes_[id];
  going_by_ = id;
  HeldBurst& rest = plane->rest;
  going_to_ = rest.flow().dst;
  prepare(rest.flow(), plane->rest_to, plane->scope, 0, nullptr);
  const iovec whole = rest.whole();
  uint32_t segments = split(&whole, 1, rest.segment_size(), rest.bytes());
  uint32_t first = 0;
  Sent sent = send_many(plane->rest_fd, &first, segments, counters);
  if (sent == Sent::kAll) {
    resting_.erase(id);
    return true;
  }
  rest.drop(first);
  block(id, plane->rest_fd);
  return false;
}

}  // namespace mrc::datapath
