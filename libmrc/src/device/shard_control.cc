// Shards: what a controller and an operator change in all of them.
#include <cerrno>
#include <deque>
#include <new>
#include <optional>
#include <vector>

#include "device/device.h"
#include "device/shards.h"

namespace mrc::device {

// The locks of all shards, in their order. Not analysed, as their number is not known.
class Shards::AllLocks {
 public:
  explicit AllLocks(const Shards& shards) ABSL_NO_THREAD_SAFETY_ANALYSIS : shards_(shards) {
    for (const std::shared_ptr<Device>& device : shards_.devices_) device->mutex().lock();
  }
  ~AllLocks() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (const std::shared_ptr<Device>& device : shards_.devices_) device->mutex().unlock();
  }
  AllLocks(const AllLocks&) = delete;
  AllLocks& operator=(const AllLocks&) = delete;

 private:
  const Shards& shards_;
};

// With all locks held, so that no queue pair takes or leaves a profile meanwhile. Every shard decides by the same state
// and the same number of queue pairs, so that all accept the call or all refuse it. Memory may run out in one of them:
// then the profiles of all are as before, except EV profiles, which are too large to be saved for each entry of a table
// that is filled one call at a time.
template <typename Change>
int Shards::change_in_all(ctl::ProfileKind kind, uint64_t id, const Change& change) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const AllLocks locks(*this);
  std::vector<uint32_t> own;
  std::deque<ctl::ProfileStore> before;  // a vector would copy them, which they cannot be
  uint32_t users = 0;
  for (const std::shared_ptr<Device>& device : devices_) {
    own.push_back(device->profiles().users(kind, id));
    users += own.back();
    if (kind != ctl::ProfileKind::kEv) before.push_back(device->profiles().save());
  }
  std::optional<int> result;
  bool alike = true, done = false, elsewhere = true;
  for (uint32_t shard = 0; shard < size(); ++shard) {
    DeviceProfiles& profiles = devices_[shard]->profiles();
    int error = 0;
    profiles.set_users(kind, id, users);
    try {
      error = change(&profiles);
    } catch (const std::bad_alloc&) {
      error = ENOMEM;
    }
    profiles.set_users(kind, id, own[shard]);
    if (result && *result != error) alike = false;
    if (!result || *result == 0) result = error;
    done = done || error == 0;
    elsewhere = elsewhere && (error == 0 || error == ENOENT);
  }
  // An automatic profile has the EVs of its own shard, and only that one's can be changed.
  if (kind == ctl::ProfileKind::kEv && done && elsewhere) return 0;
  if (!alike)
    for (uint32_t shard = 0; shard < before.size(); ++shard)
      devices_[shard]->profiles().restore(std::move(before[shard]));
  return *result;
}

int Shards::modify_format(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& attr, int mask) {
  if (size() == 1 || first().shares_state()) return first().modify_format(id, attr, mask);
  return change_in_all(ctl::ProfileKind::kFormat, id,
                       [&](DeviceProfiles* profiles) { return profiles->modify_format(id, attr, mask); });
}

int Shards::modify_ev(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask) {
  if (size() == 1 || first().shares_state()) return first().modify_ev(id, attr, mask);
  const int error = change_in_all(ctl::ProfileKind::kEv, id,
                                  [&](DeviceProfiles* profiles) { return profiles->modify_ev(id, attr, mask); });
  // See Device::modify_ev().
  for (const std::shared_ptr<Device>& device : devices_) {
    const DeviceLock lock(device->mutex());
    device->transmit_locked();
  }
  return error;
}

int Shards::modify_cc(uint64_t id, const mrc_ctl_cc_profile_attr& attr, int mask) {
  if (size() == 1 || first().shares_state()) return first().modify_cc(id, attr, mask);
  return change_in_all(ctl::ProfileKind::kCc, id,
                       [&](DeviceProfiles* profiles) { return profiles->modify_cc(id, attr, mask); });
}

int Shards::enable_plane(PlaneId plane, bool enabled) {
  for (const std::shared_ptr<Device>& device : devices_) {
    const bool shared = device->shares_state();
    if (const int error = device->enable_plane(plane, enabled); error != 0 || shared) return error;
  }
  return 0;
}

void Shards::deny_elsewhere(uint32_t shard, const IpAddress& dgid, Qpn dest_qpn, const core::EvEntry& ev, bool denied) {
  if (naming_of(first().config().settings.ev_mode) != EvNaming::kLabel) return;
  for (uint32_t other = 0; other < size(); ++other) {
    if (other == shard) continue;
    Device& device = *devices_[other];
    const DeviceLock lock(device.mutex());
    const Result<core::PeerId> peer = device.resolve_peer_locked(dgid, dest_qpn);
    if (!peer) continue;
    const PerEv<core::EvEntry>& evs = device.evs();
    for (const EvIndex i : evs.ids())
      if (evs[i].plane == ev.plane && evs[i].value >> 16 == ev.value >> 16)
        device.endpoint().set_ev_denied(device.now(), *peer, i, denied);
    device.release_peer_locked(*peer);
    device.transmit_locked();
  }
}

}  // namespace mrc::device
