// Sending half of the raw datapath: a frame is our header and the payload, written where the plane's FrameSender has
// room; frames leave at flush(), or when there is no room left. A sender without room blocks its plane until epoll
// shows it writable.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "datapath/blocked_planes.h"
#include "datapath/datapath.h"
#include "datapath/frame/ev_paths.h"
#include "datapath/plane_turn.h"
#include "datapath/raw/next_hops.h"
#include "datapath/raw/packet_batch.h"
#include "datapath/raw/packet_sockets.h"
#include "datapath/raw/xdp_plane.h"

namespace mrc::datapath {

class RawTransmitter {
 public:
  // Without a way out of any plane.
  Status open(const HostConfig& config, int epoll_fd);
  // `sockets` and `xdp`, which may be null, outlive this.
  Status open_plane(PlaneId p, const PacketSockets& sockets, XdpPlane* xdp);
  // False: the plane has no room, the burst was not changed.
  [[nodiscard]] bool send(Instant now, const core::TxBurst& burst, DatapathCounters* counters);
  void flush(DatapathCounters* counters);
  // Frames wait for a flush().
  bool unsent() const { return !unsent_.empty(); }
  // Blocked planes are looked at once between two calls of flush(): the caller asks before every packet.
  PlaneSet planes_with_room(DatapathCounters* counters);
  void unblock(PlaneId plane) { blocked_.unblock(plane); }

  const PerEv<core::EvEntry>& evs() const { return paths_.evs(); }
  std::string first_error() const;

 private:
  struct Plane {
    const PacketSockets* sockets = nullptr;
    std::unique_ptr<PacketBatch> batch;  // null: AF_XDP
    FrameSender* sender = nullptr;
    NextHops hops;
  };
  enum class Sent : uint8_t { kYes, kNoRoom, kRefused };

  Sent send_packet(Instant now, PlaneId plane, const core::TxBurst& packet, const SegmentPath& path,
                   DatapathCounters* counters);
  Sent send_frame(PlaneId plane, const core::TxBurst& packet, DatapathCounters* counters);
  Sent send_by_kernel(PlaneId plane, const core::TxBurst& packet, const IpAddress& to, DatapathCounters* counters);
  void flush(PlaneId plane, DatapathCounters* counters);

  uint32_t sndbuf_ = 0;
  EvPaths paths_;
  PerPlane<Plane> planes_;
  BlockedPlanes blocked_;
  bool looked_ = false;  // at the blocked planes, since the last flush()
  PlaneSet unsent_;      // planes whose sender has frames
  PlaneTurn flush_turn_;
  std::string first_error_;
  FrameHeader header_;
  std::array<iovec, core::kMaxIov + 1> iov_;
  core::TxBurst segment_;
};

}  // namespace mrc::datapath
