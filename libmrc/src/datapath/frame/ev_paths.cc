#include "datapath/frame/ev_paths.h"

#include <cassert>

namespace mrc::datapath {

namespace {

constexpr uint32_t kFirstSourcePort = 49152;
constexpr uint32_t kSourcePorts = 16384;

}  // namespace

Status EvPaths::open(const HostConfig& config) {
  srv6_ = config.srv6;
  labels_ = config.structured_ev;
  evs_ = config.evs;
  PerPlane<uint32_t> evs_of_plane(config.planes.size());
  for (size_t i = 0; i < evs_.size(); ++i) {
    core::EvEntry& ev = evs_[i];
    if (!evs_of_plane.has(ev.plane))
      return invalid("EV " + std::to_string(i) + ": no plane " + std::to_string(port_of(ev.plane)));
    if ((ev.value & 0xFFFFu) == 0) ev.value |= kFirstSourcePort + static_cast<uint32_t>(i) % kSourcePorts;
    ways_.emplace_back();
    ways_.back().number = evs_of_plane[ev.plane]++;
  }
  return {};
}

const SegmentPath& EvPaths::path(const wire::Flow& flow, PlaneId plane, EvIndex ev_index) {
  assert(ways_.has(ev_index));
  Way& way = ways_[ev_index];
  if (flow.dst == way.peer) return way.path;
  way.peer = flow.dst;
  if (srv6_ != nullptr) {
    way.path = srv6_->path(plane, way.number, flow.dst);
  } else {
    way.path = SegmentPath();
    way.path.destination = flow.dst;
  }
  return way.path;
}

wire::Flow EvPaths::as_sent(const wire::Flow& flow) const {
  wire::Flow sent = flow;
  if (!labels_) sent.flow_label = 0;
  return sent;
}

}  // namespace mrc::datapath
