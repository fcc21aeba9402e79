// Passes the engine's reports to observers, profiles, other shards and the log.
#include <new>
#include <sstream>

#include "device/device.h"
#include "device/log.h"

namespace mrc::device {

void Device::on_memory_fault(Qpn qpn, const core::MemoryFault& fault) {
  try {
    const auto hex = [](uint64_t n) {
      std::ostringstream text;
      text << "0x" << std::hex << n;
      return text.str();
    };
    log_line(LogLevel::kError, "device '" + config().name + "': queue pair " + hex(qpn.value()) + " fails: address " +
                                   hex(fault.address) + " of the registered region " + hex(fault.region) + " of " +
                                   std::to_string(fault.length) + " bytes (key " + hex(fault.key.value()) +
                                   ") cannot be " + (fault.write ? "written" : "read") +
                                   " any more; deregister memory before it is unmapped, truncated or protected");
  } catch (const std::bad_alloc&) {
  }
}
void Device::on_port_event(PlaneId plane, core::AsyncEvent e) {
  observers_.on_port_event(plane, e);
}
void Device::on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt) {
  observers_.on_endpoint_response(id, plane, rtt);
}
void Device::on_ev_state(EvIndex ev_index, core::EvState to, uint64_t losses) {
  try {
    for (const ctl::EvChange& change : profiles_.on_ev_state(ev_index, to, losses)) {
      shared_.on_ev_change_locked(change);
      observers_.on_ev_change(change);
      shards_.to_first(change);
    }
  } catch (const std::bad_alloc&) {  // no event then: the state can still be queried
  }
}
void Device::on_peer_addresses(core::PeerId peer) {
  try {
    shared_.on_peer_addresses_locked(peer);
  } catch (const std::bad_alloc&) {  // denied paths towards it then wait for the next change
  }
}
void Device::on_path_mtu(core::PeerId peer, PlaneId plane, uint32_t carries, uint32_t wanted) {
  try {
    const std::string to = engine_.endpoint->peer_description(peer).planes[plane].addr.to_string();
    log_once(LogLevel::kError, "device '" + config().name + "': plane " + std::to_string(port_of(plane)) + " to peer " +
                                   to + " carries packets of path MTU " + std::to_string(carries) + " and not of " +
                                   std::to_string(wanted) +
                                   ": queue pairs for which no other plane carries them fail with 'retries exceeded', "
                                   "new ones are offered " +
                                   std::to_string(carries) + "; raise the MTU along the path, or set mtu");
  } catch (const std::bad_alloc&) {
  }
}
void Device::on_path_failed(const core::PathReport& path) {
  shards_.to_others(path);
}
void Device::take_ev_change_locked(uint64_t profile, const mrc_ctl_ev& ev, mrc_ctl_ev_state state, uint64_t losses) {
  std::optional<ctl::EvChange> change = profiles_.feed(profile, ev, state);
  if (!change) return;
  change->losses = losses;
  observers_.on_ev_change(*change);
}

}  // namespace mrc::device
