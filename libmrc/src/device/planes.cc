// The planes that the engine may use: administratively enabled, with a link on the interface [MRC-SR-23]
// [MRC-PORT-2].
#include "device/device_impl.h"
#include "device/interfaces.h"
#include "device/log.h"

namespace mrc::device {

namespace {

// Loopback has no cable.
bool has_cable(const std::string& interface) {
  return !interface.empty() && interface != "lo";
}

}  // namespace

void DeviceImpl::watch_links() {
  PerPlane<std::string> names;
  bool any = false;
  for (const PlaneConfig& plane : config.planes) {
    const std::string name = plane.interface.empty() ? interface_of_address(plane.addr) : plane.interface;
    names.push_back(has_cable(name) ? name : "");
    any = any || !names.back().empty();
  }
  if (any && !links.open(std::move(names)))
    log_line(LogLevel::kWarn,
             "device '" + config.name +
                 "': the kernel reports no link states, so a lost link is noticed by its packets only");
}

void DeviceImpl::links_changed() {
  const PlaneSet linked = links.read();
  const DeviceLock lock(mutex);
  planes_linked_ = linked;
  const Instant now = clock_now();
  attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { apply_planes(now); });
  move(false, now);
}

void DeviceImpl::set_plane_admin(Instant now, PlaneId plane, bool enabled) {
  planes_enabled.set(plane, enabled);
  apply_planes(now);
}

// When the last link is lost, no peer can be notified and no other plane used: then links are ignored, so that a
// driver which reports none although it has one is harmless. Planes are enabled before others are disabled, so that
// the peers to notify are reachable.
void DeviceImpl::apply_planes(Instant now) {
  const PlaneSet all = PlaneSet::all(config.planes.size());
  const PlaneSet enabled = planes_enabled & all;
  const PlaneSet wanted = enabled.intersects(planes_linked_) ? enabled & planes_linked_ : enabled;
  for (const bool up : {true, false})
    for (const PlaneId plane : up ? wanted : all - wanted) {
      if (endpoint->plane_up(plane) == up) continue;
      const bool off = !planes_enabled.contains(plane);
      log_line(LogLevel::kInfo, "device '" + config.name + "': plane " + std::to_string(port_of(plane)) +
                                    (up    ? " is up"
                                     : off ? " is switched off"
                                           : " has lost its link"));
      endpoint->set_plane_up(now, plane, up);
    }
}

}  // namespace mrc::device
