#include "core/flows.h"

namespace mrc::core {

namespace {

// [MRC-EV-2] [MRC-CHOICE-Q3]
void set_entropy(uint32_t ev_value, uint8_t dscp, wire::Flow* flow) {
  flow->src_port = static_cast<uint16_t>(ev_value);
  flow->flow_label = flow->dst.is_v4() ? 0 : ev_value >> 16;
  flow->traffic_class = static_cast<uint8_t>(dscp << 2 | static_cast<uint8_t>(wire::Ecn::kEct0));
}

// Both ends have the EV's plane.
void fill_flow(const EndpointConfig& config, const PeerDescription& peer, const EvEntry& ev, uint8_t dscp,
               wire::Flow* flow) {
  flow->src = config.planes[ev.plane].addr;
  flow->dst = peer.planes[ev.plane].addr;
  flow->dst_port = peer.planes[ev.plane].port;
  set_entropy(ev.value, dscp, flow);
  if (!peer.is_group()) return;
  flow->src = peer.sources[ev.plane].addr;
  flow->src_port = peer.sources[ev.plane].port;
  flow->flow_label = 0;
}

}  // namespace

std::optional<wire::Flow> make_flow(const EndpointConfig& config, const PeerDescription& peer, EvIndex ev,
                                    uint8_t dscp) {
  const EvEntry& e = config.evs[ev];
  if (!peer.planes.has(e.plane) || !config.planes.has(e.plane) || peer.planes[e.plane].addr.is_zero())
    return std::nullopt;
  std::optional<wire::Flow> flow(std::in_place);
  fill_flow(config, peer, e, dscp, &*flow);
  return flow;
}

void set_flow(const EndpointConfig& config, const PeerDescription& peer, EvIndex ev, uint8_t dscp, TxBurst* out) {
  const EvEntry& e = config.evs[ev];
  fill_flow(config, peer, e, dscp, &out->flow);
  out->plane = e.plane;
  out->ev_index = ev;
}

wire::Flow make_reply_flow(const EndpointConfig& config, const wire::Flow& request, PlaneId plane, uint8_t slot,
                           EvIndex ev) {
  wire::Flow back;
  back.src = config.planes[plane].addr;
  back.dst = request.src;
  back.dst_port = config.slot_ports.has(plane) ? config.slot_ports[plane].of(slot) : config.planes[plane].port;
  set_entropy(config.evs[ev].value, config.dscp.control, &back);
  return back;
}

}  // namespace mrc::core
