// XdpPlanes: which planes of the raw datapath use AF_XDP, by the setting raw_io and by what interfaces and kernel
// support; and why the others use AF_PACKET.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/ip.h"
#include "datapath/raw/packet_sockets.h"
#include "datapath/raw/raw_datapath.h"
#include "datapath/raw/xdp_plane.h"
#include "result.h"

namespace mrc::datapath {

class XdpPlanes {
 public:
  // `max_queues`: of one plane.
  void open(size_t planes, uint32_t max_queues, RawIo io);
  // An error where the setting requires AF_XDP and there is none.
  Status open_plane(PlaneId p, const PacketSockets& sockets, const IpAddress& addr);

  XdpPlane* operator[](PlaneId p) const { return planes_[p].xdp.get(); }  // null: AF_PACKET
  const std::string& why_packet(PlaneId p) const { return planes_[p].why_packet; }
  // Frames that were dropped since the last call because a queue was full.
  uint64_t take_dropped();

 private:
  struct Plane {
    std::unique_ptr<XdpPlane> xdp;
    std::string why_packet;
  };

  RawIo io_ = RawIo::kAuto;
  uint32_t max_queues_ = 0;
  PerPlane<Plane> planes_;
  uint64_t dropped_ = 0;  // taken
};

}  // namespace mrc::datapath
