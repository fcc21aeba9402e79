// The planes that the engine may use: with sockets, administratively enabled, with a link on the interface [MRC-SR-23]
// [MRC-PORT-2]. Planes that are closed because their address or interface is missing join when the kernel notifies a
// change with which their sockets can be opened [MRC-PORT-6].
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
  const DeviceLock lock(mutex);
  const bool any_closed = !datapath->closed_planes().empty();
  PerPlane<std::string> names(config.planes.size());
  bool any = any_closed;
  if (config.settings.watch_links)
    for (const PlaneId p : names.ids()) {
      names[p] = watched_interface(p);
      any = any || !names[p].empty();
    }
  if (any && !links.open(std::move(names), any_closed))
    log_line(LogLevel::kWarn,
             "device '" + config.name +
                 "': the kernel reports no link states, so a lost link is noticed by its packets only" +
                 (any_closed ? ", and planes that are out stay out" : ""));
}

std::string DeviceImpl::watched_interface(PlaneId p) const {
  const PlaneConfig& plane = planes[p];
  const std::string name = plane.interface.empty() ? interface_of_address(plane.addr) : plane.interface;
  return has_cable(name) ? name : "";
}

// The address to open a closed plane with; none: it is not known yet. One that was not configured must be like those of
// the other planes: peers' addresses have one IP version, and an interface has its link-local address first.
std::optional<IpAddress> DeviceImpl::address_to_open(PlaneId p) const {
  const PlaneConfig& plane = planes[p];
  if (!plane.addr.is_zero()) return plane.addr;
  const std::optional<IpAddress> found = address_of_interface(plane.interface);
  if (!found) return std::nullopt;
  for (const PlaneConfig& other : planes)
    if (!other.addr.is_zero() &&
        (other.addr.is_v4() != found->is_v4() || other.addr.is_link_local() != found->is_link_local()))
      return std::nullopt;
  return found;
}

void DeviceImpl::open_closed_planes(Instant now) {
  for (const PlaneId p : datapath->closed_planes().ids()) {
    const std::optional<IpAddress> addr = address_to_open(p);
    if (!addr) continue;
    if (const Status opened = datapath->open_plane(p, *addr); !opened) {
      log_once(LogLevel::kDebug, "device '" + config.name + "': plane " + std::to_string(port_of(p)) +
                                     " is still out: " + opened.error().text);
      continue;
    }
    if (planes[p].addr != *addr) {
      planes[p].addr = endpoint_config.planes[p].addr = *addr;
      endpoint->set_plane_address(now, p, *addr);
    }
    if (config.settings.watch_links) links.follow(p, watched_interface(p));
    log_line(LogLevel::kInfo,
             "device '" + config.name + "': plane " + std::to_string(port_of(p)) + " joins with " + addr->to_string());
  }
}

void DeviceImpl::links_changed() {
  const PlaneSet linked = links.read();
  const DeviceLock lock(mutex);
  planes_linked_ = linked;
  const Instant now = clock_now();
  attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    open_closed_planes(now);
    apply_planes(now);
  });
  move(false, now);
}

void DeviceImpl::set_plane_admin(Instant now, PlaneId plane, bool enabled) {
  planes_enabled.set(plane, enabled);
  apply_planes(now);
}

// Closed planes are never used. When the last link is lost, no peer can be notified and no other plane used: then links
// are ignored, so that a driver which reports none although it has one is harmless. Planes are enabled before others
// are disabled, so that the peers to notify are reachable.
void DeviceImpl::apply_planes(Instant now) {
  const PlaneSet all = PlaneSet::all(config.planes.size());
  const PlaneSet closed = datapath->closed_planes().ids();
  const PlaneSet enabled = (planes_enabled & all) - closed;
  const PlaneSet wanted = enabled.intersects(planes_linked_) ? enabled & planes_linked_ : enabled;
  for (const bool up : {true, false})
    for (const PlaneId plane : up ? wanted : all - wanted) {
      if (endpoint->plane_up(plane) == up) continue;
      if (closed.contains(plane)) {  // the log has the reason
        endpoint->set_plane_up(now, plane, false);
        continue;
      }
      const bool off = !planes_enabled.contains(plane);
      log_line(LogLevel::kInfo, "device '" + config.name + "': plane " + std::to_string(port_of(plane)) +
                                    (up    ? " is up"
                                     : off ? " is switched off"
                                           : " has lost its link"));
      endpoint->set_plane_up(now, plane, up);
    }
}

}  // namespace mrc::device
