#include "datapath/udp/source_sockets.h"

#include <netinet/udp.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "datapath/udp/port_guard.h"
#include "datapath/udp/socket.h"

namespace mrc::datapath {

namespace {

// The source ports for entropy value `number` of a plane [MRC-SR-25].
PortRange ports_of(const UdpConfig& config, uint32_t number) {
  const uint32_t paths = config.srv6->max_path_count();
  return config.source_ports.part(number % paths, paths);
}

// The first one to be tried: processes begin at different ports, and the planes' sockets behind one another.
uint32_t first_port(const UdpConfig& config, uint32_t number) {
  return (static_cast<uint32_t>(::getpid()) * 0x9E3779B1u >> 16) + number / config.srv6->max_path_count();
}

// The socket of entropy value `number` of a plane.
Result<GuardedUdp> open_source(const UdpConfig& config, const UdpSyscalls& sys, const core::EvEntry& ev,
                               uint32_t number, bool guarded) {
  const HostPlane& plane = config.planes[ev.plane];
  const auto port = static_cast<uint16_t>(ev.value);
  if (config.srv6_encap == Srv6Encap::kKernel)
    return open_in_range(sys, {plane.addr, 0, plane.interface, false}, ports_of(config, number),
                         first_port(config, number), guarded);
  if (port == 0 && guarded) return open_guarded_udp(sys, plane.addr, plane.interface);
  Result<BoundUdp> bound = open_udp(sys, {plane.addr, port, plane.interface, port != 0});
  if (!bound) return std::move(bound).error();
  return GuardedUdp{*std::move(bound), Fd()};
}

// The port of that socket alone, on a plane that is closed: EVs do not change when it is opened.
Result<GuardedUdp> hold_source(const UdpConfig& config, const UdpSyscalls& sys, const core::EvEntry& ev,
                               uint32_t number) {
  GuardedUdp held;
  held.port = static_cast<uint16_t>(ev.value);
  const bool by_path = config.srv6_encap == Srv6Encap::kKernel;
  if (held.port != 0 && !by_path) return held;
  Result<BoundUdp> guard =
      by_path ? hold_in_range(sys, ports_of(config, number), first_port(config, number)) : hold_port(sys, 0);
  if (!guard) return std::move(guard).error();
  held.port = guard->port;
  held.guard = std::move(guard->fd);
  return held;
}

}  // namespace

Status SourceSockets::open(const UdpConfig& config, const UdpSyscalls& sys, PlaneSet closed,
                           PlaneSet without_checksum) {
  sys_ = &sys;
  evs_ = config.evs;
  PerPlane<uint32_t> evs_of_plane(config.planes.size());
  descriptors_ = make_descriptor_room(evs_.size(), config.engines);
  structured_ev_ = config.structured_ev;
  sndbuf_ = config.sndbuf;
  for (const EvIndex i : evs_.ids()) {
    core::EvEntry& ev = evs_[i];
    if (!config.planes.has(ev.plane))
      return invalid("EV " + std::to_string(i.value()) + ": no plane " + std::to_string(port_of(ev.plane)));
    const bool chosen = static_cast<uint16_t>(ev.value) != 0;
    const uint32_t number = evs_of_plane[ev.plane]++;
    const bool is_closed = closed.contains(ev.plane);
    Result<GuardedUdp> opened = is_closed ? hold_source(config, sys, ev, number)
                                          : open_source(config, sys, ev, number, descriptors_.for_guards);
    if (!opened)
      return std::move(opened).error().under("EV " + std::to_string(i.value()) + " on plane " +
                                             std::to_string(port_of(ev.plane)) + ": ");
    ev.value = (ev.value & 0xFFFF0000u) | opened->port;
    if (!is_closed)
      if (Status prepared =
              prepare(opened->fd.get(), ev, config.planes[ev.plane].addr, without_checksum.contains(ev.plane));
          !prepared)
        return prepared;
    sockets_.emplace_back();
    if (!chosen && !opened->guard) ++unguarded_;
    sockets_.back().fd = move_descriptor(std::move(opened->fd), descriptors_.lowest);
    sockets_.back().guard = move_descriptor(std::move(opened->guard), descriptors_.lowest);
    sockets_.back().number = number;
  }
  return {};
}

Status SourceSockets::prepare(int fd, const core::EvEntry& ev, const IpAddress& addr, bool without_checksum) {
  granted_ = std::min(granted_, grow_buffer(*sys_, fd, false, sndbuf_));
  shrink_receive_buffer(*sys_, fd);  // nothing is ever read from a transmit socket
  if (structured_ev_ && !addr.is_v4()) lease_flow_label(*sys_, fd, ev.value >> 16);
  int on = 1;
  if (without_checksum && sys_->setsockopt(fd, SOL_UDP, UDP_NO_CHECK6_TX, &on, sizeof(on)) != 0)
    return failed_call("cannot send without a UDP checksum, as SRv6 needs");
  return {};
}

// All sockets or none. Where descriptors are few, the guards have served their purpose.
Status SourceSockets::open_plane(PlaneId p, const HostPlane& plane, bool without_checksum) {
  std::vector<std::pair<EvIndex, Fd>> opened;
  for (const EvIndex i : evs_.ids()) {
    const core::EvEntry& ev = evs_[i];
    if (ev.plane != p) continue;
    const auto port = static_cast<uint16_t>(ev.value);
    const Fd& guard = sockets_[i].guard;
    Result<BoundUdp> bound = guard ? open_held(*sys_, plane.addr, plane.interface, port, guard.get())
                                   : open_udp(*sys_, {plane.addr, port, plane.interface, true});
    if (!bound) return std::move(bound).error();
    if (Status prepared = prepare(bound->fd.get(), ev, plane.addr, without_checksum); !prepared) return prepared;
    opened.emplace_back(i, move_descriptor(std::move(bound->fd), descriptors_.lowest));
  }
  for (auto& [i, fd] : opened) {
    sockets_[i].fd = std::move(fd);
    if (descriptors_.for_guards || !sockets_[i].guard) continue;
    sockets_[i].guard = Fd();
    ++unguarded_;
  }
  return {};
}

}  // namespace mrc::datapath
