// PlaneControl: the planes that the engine may use: with sockets, administratively enabled, with a link on the
// interface [MRC-SR-23] [MRC-PORT-2]. Planes that are closed because their address or interface is missing join when
// the kernel notifies a change with which their sockets can be opened [MRC-PORT-6]. Device lock, but for links().
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"
#include "base/ip.h"
#include "base/planes.h"
#include "base/time.h"
#include "device/config.h"
#include "device/device_lock.h"
#include "device/engine.h"
#include "device/link_watch.h"

namespace mrc::device {

class PlaneControl {
 public:
  PlaneControl(const DeviceConfig& config, Engine* engine);

  // As configured, with the addresses of interfaces that had none at the start.
  const PlaneConfig& operator[](PlaneId plane) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    return planes_[plane];
  }
  bool enabled(PlaneId plane) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { return enabled_.contains(plane); }
  // By administration; a plane without a link is not used, regardless of this.
  void enable(Instant now, PlaneId plane, bool enabled) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // Closed planes are down from the start.
  void apply_closed(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  // Asks the kernel for notifications, of which links() makes sense afterwards.
  void watch_links() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // Without the lock: for the thread that starts the helper, and from then on for the helper alone, which reads the
  // notifications before it takes the lock.
  LinkWatch& links() { return links_; }
  // Throws std::bad_alloc.
  void on_links(Instant now, PlaneSet linked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

 private:
  std::string watched_interface(PlaneId p) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  std::optional<IpAddress> address_to_open(PlaneId p) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void open_closed(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  PlaneSet wanted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void apply(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  const DeviceConfig& config_;
  Engine& engine_;
  PerPlane<PlaneConfig> planes_ ABSL_GUARDED_BY(device_lock);
  PlaneSet enabled_ ABSL_GUARDED_BY(device_lock) = PlaneSet::all();  // by administration
  PlaneSet linked_ ABSL_GUARDED_BY(device_lock) = PlaneSet::all();   // whose interface has a link
  LinkWatch links_;                                                  // of one thread at a time, as links()
};

}  // namespace mrc::device
