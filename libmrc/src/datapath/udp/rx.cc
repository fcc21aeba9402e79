#include "datapath/udp/rx.h"

#include <arpa/inet.h>
#include <linux/in6.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "datapath/udp/group_sockets.h"

namespace mrc::datapath {

Status UdpReceiver::open(const UdpConfig& config, const UdpSyscalls& sys, bool gro, int epoll_fd,
                         ClosedPlanes* closed) {
  sys_ = &sys;
  gro_ = gro;
  if (Status opened = sockets_.open(config, sys, gro, epoll_fd, closed); !opened) return opened;
  const uint32_t bytes = std::clamp<uint32_t>(config.rx_buffers, 1, 256) * kGroBytes;
  return gro ? buffers_.open(bytes, kGroBytes, UINT32_MAX)
             : buffers_.open(bytes, kPlainBytes, ReceiveMessages::kMaxBatch);
}

Status UdpReceiver::open_plane(PlaneId p, const HostPlane& plane) {
  Status opened = sockets_.open_plane(p, plane);
  forget_closed();
  return opened;
}

void UdpReceiver::close_plane(PlaneId plane) {
  sockets_.close_plane(plane);
  forget_closed();
}

void UdpReceiver::leave(const PerPlane<core::PlaneAddress>& group) {
  sockets_.leave(group);
  forget_closed();
}

void UdpReceiver::forget_closed() {
  for (uint32_t i = 0; i < sockets_.size(); ++i)
    if (!sockets_.is_open(i)) ready_.clear(i);
}

int UdpReceiver::receive(core::RxBurst* out, int max, DatapathCounters* counters) {
  int got = 0;
  while (ready_.any() && got < max && buffers_.available() > 0) {
    const uint32_t index = ready_.next();
    ReceiveSockets::Socket* s = &sockets_[index];
    int n = gro_ ? receive_gro(s, out + got, counters) : receive_plain(s, out + got, max - got, counters);
    // With GRO one call usually reads everything; another epoll_wait is cheaper than a call that finds nothing.
    if (n < 0 || gro_ || n < max - got) ready_.clear(index);
    if (n < 0) continue;
    got += n;
    ready_.begin_after(index);
  }
  return got;
}

// -1: nothing queued. 0: only unusable datagrams. Otherwise the number of bursts.
int UdpReceiver::receive_gro(ReceiveSockets::Socket* s, core::RxBurst* out, DatapathCounters* counters) {
  messages_.prepare(0, buffers_.at(0), buffers_.buffer_bytes());
  ++counters->rx_calls;
  const ssize_t n = messages_.receive_one(*sys_, s->fd.get());
  if (n < 0) {
    if (errno == EINTR) return 0;
    if (errno != EAGAIN) ++counters->rx_errors;  // epoll shows the socket again if there is more
    return -1;
  }
  if (!fill(s, 0, static_cast<uint32_t>(n), out, counters)) return 0;
  buffers_.take(1);
  return 1;
}

int UdpReceiver::receive_plain(ReceiveSockets::Socket* s, core::RxBurst* out, int max, DatapathCounters* counters) {
  const uint32_t want = std::min(static_cast<uint32_t>(max), buffers_.available());
  for (uint32_t i = 0; i < want; ++i) messages_.prepare(i, buffers_.at(i), buffers_.buffer_bytes());
  ++counters->rx_calls;
  const int n = messages_.receive_many(*sys_, s->fd.get(), want);
  if (n < 0) {
    if (errno == EINTR) return 0;
    if (errno != EAGAIN) ++counters->rx_errors;
    return -1;
  }
  int good = 0;
  for (uint32_t i = 0; i < static_cast<uint32_t>(n); ++i)
    if (fill(s, i, messages_.bytes(i), out + good, counters)) ++good;
  // Buffers of unusable datagrams are reused at once: their sender must not exhaust them.
  if (good > 0) buffers_.take(static_cast<uint32_t>(n));
  return good;
}

bool UdpReceiver::fill(ReceiveSockets::Socket* s, uint32_t message, uint32_t bytes, core::RxBurst* out,
                       DatapathCounters* counters) {
  const msghdr& msg = messages_.header(message);
  uint32_t segment = bytes;
  out->flow.traffic_class = 0;
  out->flow.flow_label = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(const_cast<msghdr*>(&msg), c)) {
    if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
      int value;
      std::memcpy(&value, CMSG_DATA(c), sizeof(value));
      segment = static_cast<uint32_t>(value);
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
      out->flow.traffic_class = *CMSG_DATA(c);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
      int value;
      std::memcpy(&value, CMSG_DATA(c), sizeof(value));
      out->flow.traffic_class = static_cast<uint8_t>(value);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_FLOWINFO) {
      uint32_t value;
      std::memcpy(&value, CMSG_DATA(c), sizeof(value));
      out->flow.flow_label = ntohl(value) & 0xFFFFF;
    } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
      uint32_t value;
      std::memcpy(&value, CMSG_DATA(c), sizeof(value));
      counters->rx_overflow += value - s->overflow;
      s->overflow = value;
    }
  }
  const std::optional<PlaneId> plane = s->of_group ? sockets_.plane_of(arrival_interface(msg)) : s->plane;
  if ((msg.msg_flags & MSG_TRUNC) != 0 || bytes == 0 || segment == 0 || !plane) {
    ++counters->rx_errors;
    return false;
  }
  from_sockaddr(messages_.from(message), &out->flow.src, &out->flow.src_port);
  out->flow.dst = s->addr;
  out->flow.dst_port = s->port;
  out->plane = *plane;
  out->data = messages_.data(message);
  out->bytes = bytes;
  out->segment_size = std::min(segment, bytes);
  counters->count_received(*out);
  return true;
}

}  // namespace mrc::datapath
