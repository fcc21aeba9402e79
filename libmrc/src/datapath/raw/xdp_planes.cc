#include "datapath/raw/xdp_planes.h"

#include <utility>

namespace mrc::datapath {

void XdpPlanes::open(size_t planes, uint32_t max_queues, RawIo io) {
  io_ = io;
  max_queues_ = max_queues;
  planes_.resize(planes);
}

Status XdpPlanes::open_plane(PlaneId p, const PacketSockets& sockets, const IpAddress& addr) {
  if (io_ == RawIo::kPacket || sockets.interface().name == "lo") {
    planes_[p].why_packet = io_ == RawIo::kPacket ? "raw_io requires it" : "there is no XDP worth the name on loopback";
    return {};
  }
  auto xdp = std::make_unique<XdpPlane>();
  Status opened = xdp->open(sockets, addr, max_queues_);
  if (opened) {
    planes_[p].xdp = std::move(xdp);
    return {};
  }
  if (io_ == RawIo::kAuto) {
    planes_[p].why_packet = std::move(opened).error().text;
    return {};
  }
  return std::move(opened).error().under("plane " + std::to_string(port_of(p)) + ": no AF_XDP on " +
                                         sockets.interface().name + ": ");
}

uint64_t XdpPlanes::take_dropped() {
  uint64_t dropped = 0;
  for (const Plane& plane : planes_)
    if (plane.xdp != nullptr)
      for (const auto& queue : plane.xdp->queues()) dropped += queue->dropped();
  return dropped - std::exchange(dropped_, dropped);
}

}  // namespace mrc::datapath
