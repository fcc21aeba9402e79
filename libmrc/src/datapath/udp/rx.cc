#include "datapath/udp/rx.h"

#include <arpa/inet.h>
#include <linux/in6.h>
#include <netinet/udp.h>
#include <sys/epoll.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "datapath/udp/group_sockets.h"

namespace mrc::datapath {

void UdpReceiver::FreeBuffer::operator()(uint8_t* p) const {
  std::free(p);
}

Status UdpReceiver::open(const UdpConfig& config, const UdpSyscalls& sys, bool gro, int epoll_fd,
                         ClosedPlanes* closed) {
  sys_ = &sys;
  epoll_fd_ = epoll_fd;
  gro_ = gro;
  rcvbuf_ = config.rcvbuf;
  structured_ev_ = config.structured_ev;
  for (const PlaneId p : config.planes.ids()) {
    const HostPlane& plane = config.planes[p];
    first_of_plane_.push_back(socket_count());
    interfaces_.push_back(0);
    for (const uint16_t port : ports_of(plane)) sockets_.push_back(Socket{Fd(), plane.addr, port, p});
    plane_sockets_ = socket_count();
    if (plane_sockets_ > kMaxSockets) return invalid("more than 64 receive sockets");
    if (Status opened = open_plane(p, plane); !opened)
      if (Status without = closed->add(p, std::move(opened).error()); !without) return without;
  }
  uint32_t slot = gro ? kGroBytes : kPlainBytes;
  uint32_t wanted = std::clamp<uint32_t>(config.rx_buffers, 1, 256) * kGroBytes;
  buffers_ = gro ? wanted / slot : std::min<uint32_t>(wanted / slot, kMaxBatch);
  memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(4096, wanted)));
  if (!memory_) return Error{ENOMEM, "no memory for receive buffers"};
  std::memset(memory_.get(), 0, wanted);  // fault the pages in now, not with the first packets
  return {};
}

std::vector<uint16_t> UdpReceiver::ports_of(const HostPlane& plane) {
  std::vector<uint16_t> ports{plane.port};
  if (plane.second_port != 0 && plane.second_port != plane.port) ports.push_back(plane.second_port);
  return ports;
}

Status UdpReceiver::open_plane(PlaneId p, const HostPlane& plane) {
  if (plane.addr.is_zero()) return Error{EADDRNOTAVAIL, "its interface is missing, or has no address"};
  const std::vector<uint16_t> ports = ports_of(plane);
  for (uint32_t i = 0; i < ports.size(); ++i) {
    Result<BoundUdp> bound = open_udp(*sys_, {plane.addr, ports[i], plane.interface, false});
    if (!bound && i > 0 && bound.error().code == EADDRINUSE) {
      notes_.push_back("plane " + std::to_string(port_of(p)) + " receives on port " + std::to_string(plane.port) +
                       " alone: port " + std::to_string(ports[i]) + " is taken");
      continue;
    }
    if (bound) {
      if (Status added = add_socket(first_of_plane_[p] + i, plane.addr, *std::move(bound)); added) continue;
      bound = failed_call("epoll");
    }
    close_plane(p);
    return std::move(bound).error();
  }
  interfaces_[p] = group_interface(plane);
  return {};
}

Status UdpReceiver::add_socket(uint32_t index, const IpAddress& addr, BoundUdp bound) {
  const int fd = bound.fd.get();
  int on = 1;
  auto want = [&](int level, int name) { (void)sys_->setsockopt(fd, level, name, &on, sizeof(on)); };
  if (addr.is_v4()) {
    want(IPPROTO_IP, IP_RECVTOS);
  } else {
    want(IPPROTO_IPV6, IPV6_RECVTCLASS);
    want(SOL_UDP, UDP_NO_CHECK6_RX);  // protected by the ICRC; peers with SRv6 and NICs send none [MRC-SR-8]
    if (structured_ev_) want(IPPROTO_IPV6, IPV6_FLOWINFO);
  }
  want(SOL_SOCKET, SO_RXQ_OVFL);
  if (gro_) want(IPPROTO_UDP, UDP_GRO);
  granted_ = std::min(granted_, grow_buffer(*sys_, fd, true, rcvbuf_));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = index;
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) return failed_call("epoll");
  Socket& s = sockets_[index];
  s.fd = std::move(bound.fd);
  s.addr = addr;
  s.port = bound.port;
  s.overflow = 0;
  return {};
}

void UdpReceiver::close_plane(PlaneId plane) {
  for (uint32_t i = first_of_plane_[plane]; i < plane_sockets_ && sockets_[i].plane == plane; ++i) {
    if (!sockets_[i].fd) continue;
    (void)::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, sockets_[i].fd.get(), nullptr);  // a child of fork may have a copy
    sockets_[i].fd = Fd();
    ready_ &= ~(1ull << i);
  }
}

std::optional<PlaneId> UdpReceiver::plane_of(uint32_t interface) const {
  for (const PlaneId p : interfaces_.ids())
    if (interfaces_[p] == interface) return p;
  return std::nullopt;
}

Status UdpReceiver::join(const core::PlaneAddress& address, const PerPlane<core::PlaneAddress>& group) {
  Socket* place = nullptr;
  for (uint32_t i = plane_sockets_; i < socket_count(); ++i) {
    if (sockets_[i].joined > 0 && sockets_[i].addr == address.addr) {
      ++sockets_[i].joined;
      return {};
    }
    if (sockets_[i].joined == 0) place = &sockets_[i];
  }
  if (place == nullptr) {
    if (socket_count() == kMaxSockets) return Error{ENOMEM, "too many multicast groups"};
    sockets_.reserve(kMaxSockets);
    place = &sockets_.emplace_back();
  }
  std::vector<uint32_t> interfaces;
  for (const PlaneId p : group.ids())
    if (group[p].addr == address.addr &&
        std::find(interfaces.begin(), interfaces.end(), interfaces_[p]) == interfaces.end())
      interfaces.push_back(interfaces_[p]);
  Result<BoundUdp> opened = open_group_receiver(*sys_, address, interfaces);
  if (!opened) return std::move(opened).error();
  (void)grow_buffer(*sys_, opened->fd.get(), true, rcvbuf_);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = static_cast<uint64_t>(place - sockets_.data());
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, opened->fd.get(), &event) != 0) return failed_call("epoll");
  *place = Socket{std::move(opened->fd), address.addr, opened->port, PlaneId(), 0, 1, true};
  return {};
}

void UdpReceiver::leave(const IpAddress& address) {
  for (uint32_t i = plane_sockets_; i < socket_count(); ++i) {
    Socket& s = sockets_[i];
    if (s.joined == 0 || s.addr != address) continue;
    if (--s.joined > 0) return;
    (void)::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, s.fd.get(), nullptr);  // a child of fork may have a copy
    s.fd = Fd();
    ready_ &= ~(1ull << i);
    return;
  }
}

// Planes may have the same address. It counts once.
bool UdpReceiver::is_first(const PerPlane<core::PlaneAddress>& group, PlaneId plane) {
  const IpAddress& address = group[plane].addr;
  if (address.is_zero()) return false;
  for (const PlaneId p : group.ids())
    if (group[p].addr == address) return p == plane;
  return false;
}

// All of them, or else none, whether it is refused or memory has run out.
Status UdpReceiver::join(const PerPlane<core::PlaneAddress>& group) {
  struct Undo {
    ~Undo() {
      for (const PlaneId p : group.ids())
        if (joined.contains(p)) receiver->leave(group[p].addr);
    }
    UdpReceiver* const receiver;
    const PerPlane<core::PlaneAddress>& group;
    PlaneSet joined;
  } undo{this, group, PlaneSet()};
  for (const PlaneId p : group.ids()) {
    if (!is_first(group, p)) continue;
    if (Status done = join(group[p], group); !done) return done;
    undo.joined.insert(p);
  }
  undo.joined = PlaneSet();
  return {};
}

void UdpReceiver::leave(const PerPlane<core::PlaneAddress>& group) {
  for (const PlaneId p : group.ids())
    if (is_first(group, p)) leave(group[p].addr);
}

int UdpReceiver::receive(core::RxBurst* out, int max, DatapathCounters* counters) {
  int got = 0;
  while (ready_ != 0 && got < max && used_ < buffers_) {
    // The next ready socket at or after next_, cyclically.
    uint64_t ahead = ready_ >> next_ << next_;
    uint32_t index = static_cast<uint32_t>(std::countr_zero(ahead != 0 ? ahead : ready_));
    Socket* s = &sockets_[index];
    int n = gro_ ? receive_gro(s, out + got, counters) : receive_plain(s, out + got, max - got, counters);
    // With GRO one call usually reads everything; another epoll_wait is cheaper than a call that finds nothing.
    if (n < 0 || gro_ || n < max - got) ready_ &= ~(1ull << index);
    if (n < 0) continue;
    got += n;
    next_ = (index + 1) % socket_count();
  }
  return got;
}

// -1: nothing queued. 0: only unusable datagrams. Otherwise the number of bursts.
int UdpReceiver::receive_gro(Socket* s, core::RxBurst* out, DatapathCounters* counters) {
  uint8_t* buffer = memory_.get() + static_cast<size_t>(used_) * kGroBytes;
  iovec iov{buffer, kGroBytes};
  msghdr msg{};
  msg.msg_name = &from_[0];
  msg.msg_namelen = sizeof(from_[0]);
  msg.msg_iov = &iov;
  msg.msg_iovlen = 1;
  msg.msg_control = control_[0].bytes.data();
  msg.msg_controllen = control_[0].bytes.size();
  ++counters->rx_calls;
  ssize_t n = sys_->recvmsg(s->fd.get(), &msg, MSG_DONTWAIT);
  if (n < 0) {
    if (errno == EINTR) return 0;
    if (errno != EAGAIN) ++counters->rx_errors;  // epoll shows the socket again if there is more
    return -1;
  }
  if (!fill(s, msg, from_[0], buffer, static_cast<uint32_t>(n), out, counters)) return 0;
  ++used_;
  return 1;
}

int UdpReceiver::receive_plain(Socket* s, core::RxBurst* out, int max, DatapathCounters* counters) {
  int want = std::min<int>(max, static_cast<int>(buffers_ - used_));
  for (int i = 0; i < want; ++i) {
    iovs_[i] = {memory_.get() + static_cast<size_t>(used_ + static_cast<uint32_t>(i)) * kPlainBytes, kPlainBytes};
    msghdr& msg = msgs_[i].msg_hdr;
    msg = {};
    msg.msg_name = &from_[i];
    msg.msg_namelen = sizeof(from_[i]);
    msg.msg_iov = &iovs_[i];
    msg.msg_iovlen = 1;
    msg.msg_control = control_[i].bytes.data();
    msg.msg_controllen = control_[i].bytes.size();
  }
  ++counters->rx_calls;
  int n = sys_->recvmmsg(s->fd.get(), msgs_.data(), static_cast<unsigned int>(want), MSG_DONTWAIT, nullptr);
  if (n < 0) {
    if (errno == EINTR) return 0;
    if (errno != EAGAIN) ++counters->rx_errors;
    return -1;
  }
  int good = 0;
  for (int i = 0; i < n; ++i) {
    auto* data = static_cast<const uint8_t*>(iovs_[i].iov_base);
    if (fill(s, msgs_[i].msg_hdr, from_[i], data, msgs_[i].msg_len, out + good, counters)) ++good;
  }
  // Buffers of unusable datagrams are reused at once: their sender must not exhaust them.
  if (good > 0) used_ += static_cast<uint32_t>(n);
  return good;
}

bool UdpReceiver::fill(Socket* s, const msghdr& msg, const SockAddr& from, const uint8_t* data, uint32_t bytes,
                       core::RxBurst* out, DatapathCounters* counters) {
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
  const std::optional<PlaneId> plane = s->of_group ? plane_of(arrival_interface(msg)) : s->plane;
  if ((msg.msg_flags & MSG_TRUNC) != 0 || bytes == 0 || segment == 0 || !plane) {
    ++counters->rx_errors;
    return false;
  }
  from_sockaddr(from, &out->flow.src, &out->flow.src_port);
  out->flow.dst = s->addr;
  out->flow.dst_port = s->port;
  out->plane = *plane;
  out->data = data;
  out->bytes = bytes;
  out->segment_size = std::min(segment, bytes);
  counters->count_received(*out);
  return true;
}

}  // namespace mrc::datapath
