#include "datapath/udp/receive_sockets.h"

#include <linux/in6.h>
#include <netinet/udp.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "datapath/udp/group_sockets.h"

namespace mrc::datapath {

namespace {

std::vector<uint16_t> ports_of(const HostPlane& plane) {
  std::vector<uint16_t> ports{plane.port};
  if (plane.second_port != 0 && plane.second_port != plane.port) ports.push_back(plane.second_port);
  return ports;
}

// Planes may have the same address. It counts once.
bool is_first(const PerPlane<core::PlaneAddress>& group, PlaneId plane) {
  const IpAddress& address = group[plane].addr;
  if (address.is_zero()) return false;
  for (const PlaneId p : group.ids())
    if (group[p].addr == address) return p == plane;
  return false;
}

}  // namespace

Status ReceiveSockets::open(const UdpConfig& config, const UdpSyscalls& sys, bool gro, int epoll_fd,
                            ClosedPlanes* closed) {
  sys_ = &sys;
  epoll_fd_ = epoll_fd;
  gro_ = gro;
  rcvbuf_ = config.rcvbuf;
  structured_ev_ = config.structured_ev;
  for (const PlaneId p : config.planes.ids()) {
    const HostPlane& plane = config.planes[p];
    first_of_plane_.push_back(size());
    interfaces_.push_back(0);
    for (const uint16_t port : ports_of(plane)) sockets_.push_back(Socket{Fd(), plane.addr, port, p});
    plane_sockets_ = size();
    if (plane_sockets_ > kMaxSockets) return invalid("more than 64 receive sockets");
    if (Status opened = open_plane(p, plane); !opened)
      if (Status without = closed->add(p, std::move(opened).error()); !without) return without;
  }
  return {};
}

Status ReceiveSockets::open_plane(PlaneId p, const HostPlane& plane) {
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
      Status added = add(first_of_plane_[p] + i, plane.addr, *std::move(bound));
      if (added) continue;
      bound = std::move(added).error();
    }
    close_plane(p);
    return std::move(bound).error();
  }
  interfaces_[p] = group_interface(plane);
  return {};
}

Status ReceiveSockets::add(uint32_t index, const IpAddress& addr, BoundUdp bound) {
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
  if (Status watched = watch(fd, index); !watched) return watched;
  Socket& s = sockets_[index];
  s.fd = std::move(bound.fd);
  s.addr = addr;
  s.port = bound.port;
  s.overflow = 0;
  return {};
}

Status ReceiveSockets::watch(int fd, uint32_t index) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = index;
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) return failed_call("epoll");
  return {};
}

void ReceiveSockets::close_socket(Socket* socket) {
  if (!socket->fd) return;
  (void)::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, socket->fd.get(), nullptr);  // a child of fork may have a copy
  socket->fd = Fd();
}

void ReceiveSockets::close_plane(PlaneId plane) {
  for (uint32_t i = first_of_plane_[plane]; i < plane_sockets_ && sockets_[i].plane == plane; ++i)
    close_socket(&sockets_[i]);
}

std::optional<PlaneId> ReceiveSockets::plane_of(uint32_t interface) const {
  for (const PlaneId p : interfaces_.ids())
    if (interfaces_[p] == interface) return p;
  return std::nullopt;
}

Status ReceiveSockets::join(const core::PlaneAddress& address, const PerPlane<core::PlaneAddress>& group) {
  Socket* place = nullptr;
  for (uint32_t i = plane_sockets_; i < size(); ++i) {
    if (sockets_[i].joined > 0 && sockets_[i].addr == address.addr) {
      ++sockets_[i].joined;
      return {};
    }
    if (sockets_[i].joined == 0) place = &sockets_[i];
  }
  if (place == nullptr) {
    if (size() == kMaxSockets) return Error{ENOMEM, "too many multicast groups"};
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
  if (Status watched = watch(opened->fd.get(), static_cast<uint32_t>(place - sockets_.data())); !watched)
    return watched;
  *place = Socket{std::move(opened->fd), address.addr, opened->port, PlaneId(), 0, 1, true};
  return {};
}

void ReceiveSockets::leave(const IpAddress& address) {
  for (uint32_t i = plane_sockets_; i < size(); ++i) {
    Socket& s = sockets_[i];
    if (s.joined == 0 || s.addr != address) continue;
    if (--s.joined == 0) close_socket(&s);
    return;
  }
}

// All of them, or else none, whether it is refused or memory has run out.
Status ReceiveSockets::join(const PerPlane<core::PlaneAddress>& group) {
  struct Undo {
    ~Undo() {
      for (const PlaneId p : group.ids())
        if (joined.contains(p)) sockets->leave(group[p].addr);
    }
    ReceiveSockets* const sockets;
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

void ReceiveSockets::leave(const PerPlane<core::PlaneAddress>& group) {
  for (const PlaneId p : group.ids())
    if (is_first(group, p)) leave(group[p].addr);
}

}  // namespace mrc::datapath
