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
  std::vector<std::string> names;
  bool any = false;
  for (const PlaneConfig& plane : config.planes) {
    const std::string name = plane.interface.empty() ? interface_of_address(plane.addr) : plane.interface;
    names.push_back(has_cable(name) ? name : "");
    any = any || !names.back().empty();
  }
  if (any && !links.open(std::move(names)))
    log_line(LogLevel::kWarn, "device '" + config.name +
                                  "': the kernel tells nothing of links, so a lost one is noticed by its packets only");
}

void DeviceImpl::links_changed() {
  const uint32_t linked = links.read();
  const DeviceLock lock(mutex);
  planes_linked_ = linked;
  const Instant now = clock_now();
  apply_planes(now);
  move(false, now);
}

void DeviceImpl::set_plane_admin(Instant now, uint8_t plane, bool enabled) {
  planes_enabled = enabled ? planes_enabled | 1u << plane : planes_enabled & ~(1u << plane);
  apply_planes(now);
}

// When the last link is lost, no peer can be notified and no other plane used: then links are ignored, so that a
// driver which reports none although it has one is harmless. Planes are enabled before others are disabled, so that
// the peers to notify are reachable.
void DeviceImpl::apply_planes(Instant now) {
  const auto count = static_cast<uint32_t>(config.planes.size());
  const uint32_t enabled = planes_enabled & (count == kMaxPlanes ? ~0u : (1u << count) - 1);
  const uint32_t wanted = (enabled & planes_linked_) != 0 ? enabled & planes_linked_ : enabled;
  for (const bool up : {true, false})
    for (uint32_t p = 0; p < count; ++p) {
      const auto plane = static_cast<uint8_t>(p);
      if ((wanted >> p & 1) != static_cast<uint32_t>(up) || endpoint->plane_up(plane) == up) continue;
      const bool off = (planes_enabled >> p & 1) == 0;
      log_line(LogLevel::kInfo, "device '" + config.name + "': plane " + std::to_string(p + 1) +
                                    (up    ? " is up"
                                     : off ? " is switched off"
                                           : " has lost its link"));
      endpoint->set_plane_up(now, plane, up);
    }
}

}  // namespace mrc::device
