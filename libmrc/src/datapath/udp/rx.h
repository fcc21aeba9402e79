// Receiving half of the UDP driver: a socket per plane, polled through one epoll descriptor, into a small set of
// buffers that are reused from the first one at every call, so that they stay in the cache and the engine's copy
// into user memory is the only one in user space.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datapath/udp/socket.h"
#include "datapath/udp/udp_datapath.h"

namespace mrc::datapath {

class UdpReceiver {
 public:
  static constexpr uint32_t kGroBytes = 65536;  // the largest thing GRO delivers
  static constexpr uint32_t kPlainBytes =
      16384;  // per datagram without GRO; the largest MRC packet has 8,192 + headers
  static constexpr int kMaxBatch = 64;
  static constexpr uint32_t kMaxSockets = 64;

  // Sockets of the planes, bound; registers them at `epoll_fd` with data = index of the socket. Planes that lack their
  // address or interface are added to `closed`.
  Status open(const UdpConfig& config, const UdpSyscalls& sys, bool gro, int epoll_fd, ClosedPlanes* closed);
  // The sockets of a closed plane; with an error it has none.
  Status open_plane(PlaneId p, const HostPlane& plane);
  void close_plane(PlaneId plane);
  // Marks socket `index` as ready; called with the results of epoll. These may name a socket that has left meanwhile.
  void set_ready(uint32_t index) {
    if (index < socket_count() && sockets_[index].fd) ready_ |= 1ull << index;
  }
  bool any_ready() const { return ready_ != 0; }
  // Reads ready sockets in turn; at most `max` bursts.
  int receive(core::RxBurst* out, int max, DatapathCounters* counters);
  // Marks all buffers as free: call once per rx_burst.
  void recycle() { used_ = 0; }

  // A socket for each address of a multicast group, with the planes that have it. See Datapath::join_group().
  Status join(const PerPlane<core::PlaneAddress>& group);
  void leave(const PerPlane<core::PlaneAddress>& group);
  uint32_t max_group_sockets() const { return kMaxSockets - plane_sockets_; }

  uint32_t socket_count() const { return static_cast<uint32_t>(sockets_.size()); }
  uint16_t port(PlaneId plane) const { return sockets_[first_of_plane_[plane]].port; }
  const std::vector<std::string>& notes() const { return notes_; }  // second ports that were unavailable
  uint32_t granted() const { return granted_; }                     // smallest receive buffer obtained

 private:
  struct Socket {
    Fd fd;
    IpAddress addr;
    uint16_t port = 0;
    PlaneId plane;
    uint32_t overflow = 0;  // last value of the kernel's running count
    uint32_t joined = 0;    // of a group: calls of join() without their leave()
    bool of_group = false;  // its datagrams are of the plane on whose interface they arrive
  };
  struct alignas(8) Control {
    std::array<char, 128> bytes;
  };

  static std::vector<uint16_t> ports_of(const HostPlane& plane);
  Status add_socket(uint32_t index, const IpAddress& addr, BoundUdp bound);
  Status join(const core::PlaneAddress& address, const PerPlane<core::PlaneAddress>& group);
  void leave(const IpAddress& address);
  static bool is_first(const PerPlane<core::PlaneAddress>& group, PlaneId plane);
  std::optional<PlaneId> plane_of(uint32_t interface) const;
  int receive_gro(Socket* s, core::RxBurst* out, DatapathCounters* counters);
  int receive_plain(Socket* s, core::RxBurst* out, int max, DatapathCounters* counters);
  // Fills addresses, class, label and segment size from one message. False: unusable (truncated).
  bool fill(Socket* s, const msghdr& msg, const SockAddr& from, const uint8_t* data, uint32_t bytes, core::RxBurst* out,
            DatapathCounters* counters);

  const UdpSyscalls* sys_ = nullptr;
  int epoll_fd_ = -1;
  bool gro_ = false;
  bool structured_ev_ = false;
  // Of the planes, those of closed ones and second ports that were taken without descriptor; then those of groups,
  // whose places are used again.
  std::vector<Socket> sockets_;
  uint32_t plane_sockets_ = 0;
  uint32_t rcvbuf_ = 0;
  PerPlane<uint32_t> interfaces_;  // of the planes, by their indices
  PerPlane<uint32_t> first_of_plane_;
  std::vector<std::string> notes_;
  uint64_t ready_ = 0;
  uint32_t next_ = 0;  // socket to read first, for fairness
  uint32_t used_ = 0;  // buffers returned since recycle()
  uint32_t buffers_ = 0;
  uint32_t granted_ = UINT32_MAX;
  struct FreeBuffer {
    void operator()(uint8_t* p) const;
  };
  std::unique_ptr<uint8_t, FreeBuffer> memory_;
  std::array<mmsghdr, kMaxBatch> msgs_;
  std::array<iovec, kMaxBatch> iovs_;
  std::array<SockAddr, kMaxBatch> from_;
  std::array<Control, kMaxBatch> control_;
};

}  // namespace mrc::datapath
