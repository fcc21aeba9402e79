#include "device/plane_control.h"

#include "device/interfaces.h"
#include "device/log.h"
#include "invariant.h"

namespace mrc::device {

namespace {

// Loopback has no cable.
bool has_cable(const std::string& interface) {
  return !interface.empty() && interface != "lo";
}

}  // namespace

PlaneControl::PlaneControl(const DeviceConfig& config, Engine* engine)
    : config_(config), engine_(*engine), planes_(config.planes.begin(), config.planes.end()) {}

void PlaneControl::watch_links() {
  const bool any_closed = !engine_.datapath->closed_planes().empty();
  PerPlane<std::string> names(config_.planes.size());
  bool any = any_closed;
  if (config_.settings.watch_links)
    for (const PlaneId p : names.ids()) {
      names[p] = watched_interface(p);
      any = any || !names[p].empty();
    }
  if (any && !links_.open(std::move(names), any_closed))
    log_line(LogLevel::kWarn,
             "device '" + config_.name +
                 "': the kernel reports no link states, so a lost link is noticed by its packets only" +
                 (any_closed ? ", and planes that are out stay out" : ""));
}

std::string PlaneControl::watched_interface(PlaneId p) const {
  const PlaneConfig& plane = planes_[p];
  const std::string name = plane.interface.empty() ? interface_of_address(plane.addr) : plane.interface;
  return has_cable(name) ? name : "";
}

// The address to open a closed plane with; none: it is not known yet. One that was not configured must be like those of
// the other planes: peers' addresses have one IP version, and an interface has its link-local address first.
std::optional<IpAddress> PlaneControl::address_to_open(PlaneId p) const {
  const PlaneConfig& plane = planes_[p];
  if (!plane.addr.is_zero()) return plane.addr;
  const std::optional<IpAddress> found = address_of_interface(plane.interface);
  if (!found) return std::nullopt;
  for (const PlaneConfig& other : planes_)
    if (!other.addr.is_zero() &&
        (other.addr.is_v4() != found->is_v4() || other.addr.is_link_local() != found->is_link_local()))
      return std::nullopt;
  return found;
}

void PlaneControl::open_closed(Instant now) {
  for (const PlaneId p : engine_.datapath->closed_planes().ids()) {
    const std::optional<IpAddress> addr = address_to_open(p);
    if (!addr) continue;
    if (const Status opened = engine_.datapath->open_plane(p, *addr); !opened) {
      log_once(LogLevel::kDebug, "device '" + config_.name + "': plane " + std::to_string(port_of(p)) +
                                     " is still out: " + opened.error().text);
      continue;
    }
    if (planes_[p].addr != *addr) {
      planes_[p].addr = engine_.config.planes[p].addr = *addr;
      engine_.endpoint->set_plane_address(now, p, *addr);
    }
    if (config_.settings.watch_links) links_.follow(p, watched_interface(p));
    log_line(LogLevel::kInfo,
             "device '" + config_.name + "': plane " + std::to_string(port_of(p)) + " joins with " + addr->to_string());
  }
}

void PlaneControl::on_links(Instant now, PlaneSet linked) {
  linked_ = linked;
  open_closed(now);
  apply(now);
}

void PlaneControl::apply_closed(Instant now) {
  if (!engine_.datapath->closed_planes().empty()) apply(now);
}

void PlaneControl::enable(Instant now, PlaneId plane, bool enabled) {
  enabled_.set(plane, enabled);
  apply(now);
}

// Closed planes are never used. When the last link is lost, no peer can be notified and no other plane used: then links
// are ignored, so that a driver which reports none although it has one is harmless.
PlaneSet PlaneControl::wanted() const {
  const PlaneSet enabled = (enabled_ & planes_.ids()) - engine_.datapath->closed_planes().ids();
  return enabled.intersects(linked_) ? enabled & linked_ : enabled;
}

// Planes are enabled before others are disabled, so that the peers to notify are reachable.
void PlaneControl::apply(Instant now) {
  const PlaneSet closed = engine_.datapath->closed_planes().ids();
  const PlaneSet used = wanted();
  for (const bool up : {true, false})
    for (const PlaneId plane : up ? used : planes_.ids() - used) {
      if (engine_.endpoint->plane_up(plane) == up) continue;
      if (closed.contains(plane)) {  // the log has the reason
        engine_.endpoint->set_plane_up(now, plane, false);
        continue;
      }
      const bool off = !enabled_.contains(plane);
      log_line(LogLevel::kInfo, "device '" + config_.name + "': plane " + std::to_string(port_of(plane)) +
                                    (up    ? " is up"
                                     : off ? " is switched off"
                                           : " has lost its link"));
      engine_.endpoint->set_plane_up(now, plane, up);
    }
  check();
}

void PlaneControl::check() const {
  if constexpr (!kCheckInvariants) return;
  const PlaneSet used = wanted();
  for (const PlaneId plane : planes_.ids()) MRC_INVARIANT(engine_.endpoint->plane_up(plane) == used.contains(plane));
}

}  // namespace mrc::device
