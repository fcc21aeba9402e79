// ReceiveSockets: the sockets that datagrams arrive at: one or two per plane, then one per address of a multicast
// group. Each is registered at an epoll descriptor with its index.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/ip.h"
#include "base/planes.h"
#include "core/types.h"
#include "datapath/closed_planes.h"
#include "datapath/ready_sources.h"
#include "datapath/udp/socket.h"
#include "datapath/udp/syscalls.h"
#include "datapath/udp/udp_datapath.h"
#include "fd.h"
#include "result.h"

namespace mrc::datapath {

class ReceiveSockets {
 public:
  static constexpr uint32_t kMaxSockets = 64;
  static_assert(kMaxSockets <= ReadySources::kMaxSources);

  struct Socket {
    Fd fd;
    IpAddress addr;
    uint16_t port = 0;
    PlaneId plane;
    uint32_t overflow = 0;  // last value of the kernel's running count
    uint32_t joined = 0;    // of a group: calls of join() without their leave()
    bool of_group = false;  // its datagrams are of the plane on whose interface they arrive
  };

  // Sockets of the planes, bound. Planes that lack their address or interface are added to `closed`.
  Status open(const UdpConfig& config, const UdpSyscalls& sys, bool gro, int epoll_fd, ClosedPlanes* closed);
  // The sockets of a closed plane; with an error it has none.
  Status open_plane(PlaneId p, const HostPlane& plane);
  void close_plane(PlaneId plane);
  // A socket for each address of a multicast group, with the planes that have it. See Datapath::join_group().
  Status join(const PerPlane<core::PlaneAddress>& group);
  void leave(const PerPlane<core::PlaneAddress>& group);

  uint32_t size() const { return static_cast<uint32_t>(sockets_.size()); }
  Socket& operator[](uint32_t index) { return sockets_[index]; }
  bool is_open(uint32_t index) const { return index < size() && sockets_[index].fd; }
  uint32_t max_group_sockets() const { return kMaxSockets - plane_sockets_; }
  uint16_t port(PlaneId plane) const { return sockets_[first_of_plane_[plane]].port; }
  // The plane of an interface, by the interface's index.
  std::optional<PlaneId> plane_of(uint32_t interface) const;
  const std::vector<std::string>& notes() const { return notes_; }  // second ports that were unavailable
  uint32_t granted() const { return granted_; }                     // smallest receive buffer obtained

 private:
  Status add(uint32_t index, const IpAddress& addr, BoundUdp bound);
  Status watch(int fd, uint32_t index);
  Status join(const core::PlaneAddress& address, const PerPlane<core::PlaneAddress>& group);
  void leave(const IpAddress& address);
  void close_socket(Socket* socket);

  const UdpSyscalls* sys_ = nullptr;
  int epoll_fd_ = -1;
  bool gro_ = false;
  bool structured_ev_ = false;
  uint32_t rcvbuf_ = 0;
  // Of the planes, those of closed ones and second ports that were taken without descriptor; then those of groups,
  // whose places are used again.
  std::vector<Socket> sockets_;
  uint32_t plane_sockets_ = 0;
  PerPlane<uint32_t> interfaces_;  // of the planes, by their indices
  PerPlane<uint32_t> first_of_plane_;
  std::vector<std::string> notes_;
  uint32_t granted_ = UINT32_MAX;
};

}  // namespace mrc::datapath
