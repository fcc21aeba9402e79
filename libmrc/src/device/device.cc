#include "device/device.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "ctl/call.h"
#include "device/log.h"
#include "device/peers.h"
#include "device/seed.h"

namespace mrc::device {

Device::Device(DeviceFacts facts, std::unique_ptr<datapath::Datapath> datapath, const Clock& clock)
    : facts_(std::move(facts)),
      clock_(clock),
      engine_{std::move(datapath), {}, nullptr, nullptr},
      qpns_(slot(), static_cast<uint32_t>(config().settings.max_qps), seed_of(config().settings, 0)),
      profiles_(evs(), planes(), naming_of(config().settings.ev_mode)) {}

uint32_t Device::active_mtu() {
  const DeviceLock lock(mutex_);
  return std::min(max_mtu(), engine_.endpoint->found_path_mtu(now()));
}

core::QpAttr Device::default_qp_attr() const {
  const Settings& s = config().settings;
  core::QpAttr attr;
  attr.path_mtu = max_mtu();
  attr.mpr = attr.mpr_dest = static_cast<uint8_t>(s.mpr);
  attr.dynamic_mpr = s.dynamic_mpr;
  attr.trim_nack = s.trim_nack;
  attr.max_wimm = attr.max_wimm_dest = static_cast<uint16_t>(s.max_wimm);
  attr.timeout = static_cast<uint8_t>(s.timeout);
  attr.retry_linear = static_cast<uint8_t>(s.retry_linear);
  attr.retry_exp = static_cast<uint8_t>(s.retry_exp);
  return attr;
}

int Device::progress() {
  const DeviceLock lock(mutex_);
  return progress_locked();
}

int Device::try_progress() {
  if (!mutex_.try_lock()) return 0;
  const DeviceLock lock(mutex_, std::adopt_lock);
  return progress_locked();
}

// Noted at both ends: a call that moved many bursts took longer than the helper's limit.
int Device::progress_locked() {
  if (inherited_) return 0;  // the helper and its timers are the parent's
  const Instant begin = now();
  helper_.note_poll(begin);
  const int moved = progress_.receive_and_send(begin);
  if (moved > 0) helper_.note_poll(progress_.moved_until());
  return moved;
}

int Device::wait(pollfd* fds, size_t n, const timespec* max, int armed) {
  if (inherited_) return ::ppoll(fds, n, max, nullptr);
  bool work = false;
  int ready;
  {
    const StandIn stand_in(&helper_, n, armed);
    ready = stand_in ? wait_in_place_of_helper(stand_in, fds, n, max, &work) : ::ppoll(fds, n, max, nullptr);
  }
  if (work) try_progress();
  return ready;
}

Result<core::PeerId> Device::resolve_peer_locked(const IpAddress& dgid, Qpn dest_qpn) {
  Result<core::PeerDescription> peer = resolve_peer(config(), slot(), dgid, dest_qpn);
  if (peer) return engine_.endpoint->intern_peer(*peer);
  log_line(LogLevel::kError, peer.error().text);
  return std::move(peer).error();
}

// A daemon that ends in between may or may not have executed the call; the result is EIO, and no call is repeated.
template <typename Attr, typename Local>
int Device::modify(uint64_t id, const Attr& attr, int mask, const Local& local) {
  if (shares_state()) return shared_.modify(ctl::call_json(id, attr, mask));
  const DeviceLock lock(mutex_);
  return local();
}
int Device::modify_format(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& attr, int mask) {
  return modify(id, attr, mask,
                [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { return profiles_.modify_format(id, attr, mask); });
}
int Device::modify_ev(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask) {
  return modify(id, attr, mask, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    const int error = profiles_.modify_ev(id, attr, mask);
    // QPs that had no EV left have no timer either: a thread that sleeps until their completion waits for this call.
    transmit_locked();
    return error;
  });
}
int Device::modify_cc(uint64_t id, const mrc_ctl_cc_profile_attr& attr, int mask) {
  return modify(id, attr, mask,
                [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { return profiles_.modify_cc(id, attr, mask); });
}
int Device::enable_plane(PlaneId plane, bool up) {
  if (shares_state()) return shared_.modify_port(port_of(plane), up);
  const DeviceLock lock(mutex_);
  enable_plane_locked(plane, up);
  transmit_locked();
  return 0;
}

void Device::add_observer(DeviceObserver* observer) {
  const DeviceLock lock(mutex_);
  observers_.add(observer);
}

void Device::remove_observer(DeviceObserver* observer) {
  const DeviceLock lock(mutex_);
  observers_.remove(observer);
}

void Device::inherit() {
  inherited_ = true;
  progress_.end();
  shared_.abandon();
}

}  // namespace mrc::device
