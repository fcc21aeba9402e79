// Sending half of the raw datapath: a packet is our header and the payload in place, in one system call. A
// socket without room blocks its plane until epoll shows it writable.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "datapath/datapath.h"
#include "datapath/frame/ev_paths.h"
#include "datapath/raw/next_hops.h"
#include "datapath/raw/packet_sockets.h"
#include "datapath/raw/xdp_plane.h"

namespace mrc::datapath {

class RawTransmitter {
 public:
  static constexpr uint64_t kEpollTag = 1ull << 32;  // epoll data of plane p: kEpollTag + p

  // `sockets`: one per plane, `xdp` likewise or null; they outlive this.
  Status open(const HostConfig& config, const std::vector<PacketSockets>& sockets,
              const std::vector<std::unique_ptr<XdpPlane>>& xdp, int epoll_fd);
  // False: the plane has no room, the burst was not changed.
  bool send(const core::TxBurst& burst, DatapathCounters* counters);
  PlaneSet planes_with_room();
  void unblock(PlaneId plane) { blocked_.erase(plane); }

  // Frames that the kernel did not take when it was woken for them.
  void kick_again();

  const PerEv<core::EvEntry>& evs() const { return paths_.evs(); }
  const std::string& first_error() const { return first_error_; }

 private:
  struct Plane {
    const PacketSockets* sockets = nullptr;
    Xsk* xsk = nullptr;  // null: AF_PACKET
    Fd xsk_watch;        // of the same socket, to be waited on for room
    NextHops hops;
    int blocked_fd = -1;
    std::array<bool, 2> armed{};  // frame and packet socket: known to epoll
  };
  enum class Sent : uint8_t { kYes, kNoRoom, kRefused };

  Sent send_packet(Plane* plane, const core::TxBurst& packet, const SegmentPath& path, DatapathCounters* counters);
  Sent send_by_xdp(Plane* plane, const core::TxBurst& packet, DatapathCounters* counters);
  void block(PlaneId plane);

  int epoll_fd_ = -1;
  EvPaths paths_;
  PerPlane<Plane> planes_;
  PlaneSet blocked_;
  bool unsent_ = false;  // some AF_XDP socket has frames that the kernel did not take
  std::string first_error_;
  FrameHeader header_;
  std::array<iovec, core::kMaxIov + 1> iov_;
  core::TxBurst segment_;
};

}  // namespace mrc::datapath
