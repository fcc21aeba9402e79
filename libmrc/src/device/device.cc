#include "device/device.h"

#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ctl/call.h"
#include "device/device_impl.h"
#include "device/log.h"
#include "device/peers.h"

namespace mrc::device {

Device::Device(std::unique_ptr<DeviceImpl> impl) : impl_(std::move(impl)) {}

Device::~Device() {
  if (impl_->forked)
    (void)impl_.release();  // a child's copy: its thread does not exist here, its sockets are the parent's
}

const DeviceConfig& Device::config() const {
  return impl_->config;
}
uint8_t Device::slot() const {
  return impl_->slot;
}
uint32_t Device::planes() const {
  return static_cast<uint32_t>(impl_->config.planes.size());
}
uint32_t Device::max_mtu() const {
  return impl_->mtu;
}
uint32_t Device::active_mtu() {
  const DeviceLock lock(impl_->mutex);
  return std::min(impl_->mtu, impl_->endpoint->found_path_mtu(clock_now()));
}
const PerEv<core::EvEntry>& Device::evs() const {
  return impl_->evs;
}

core::QpAttr Device::default_qp_attr() const {
  const Settings& s = impl_->config.settings;
  core::QpAttr attr;
  attr.path_mtu = impl_->mtu;
  attr.mpr = attr.mpr_dest = static_cast<uint8_t>(s.mpr);
  attr.dynamic_mpr = s.dynamic_mpr;
  attr.trim_nack = s.trim_nack;
  attr.max_wimm = attr.max_wimm_dest = static_cast<uint16_t>(s.max_wimm);
  attr.timeout = static_cast<uint8_t>(s.timeout);
  attr.retry_linear = static_cast<uint8_t>(s.retry_linear);
  attr.retry_exp = static_cast<uint8_t>(s.retry_exp);
  return attr;
}

bool Device::inherited() const {
  return impl_->forked;
}

DeviceMutex& Device::mutex() {
  return impl_->mutex;
}
core::Endpoint& Device::endpoint() {
  return *impl_->endpoint;
}
Instant Device::now() {
  return clock_now();
}

int Device::progress() {
  const DeviceLock lock(impl_->mutex);
  return progress_locked();
}

int Device::try_progress() {
  if (!impl_->mutex.try_lock()) return 0;
  const DeviceLock lock(impl_->mutex, std::adopt_lock);
  return progress_locked();
}

// Noted at both ends: a call that moved many bursts took longer than the helper's patience.
int Device::progress_locked() {
  if (impl_->forked) return 0;  // the helper and its timers are the parent's
  const Instant now = clock_now();
  impl_->helper.note_poll(now);
  const int moved = impl_->move(true, now);
  if (moved > 0) impl_->helper.note_poll(impl_->moved_until());
  return moved;
}

// Not counted as polling: otherwise a program that posts and never polls would prevent the helper from receiving.
int Device::transmit_locked() {
  return impl_->move(false, clock_now());
}

void Device::count_armed(int delta) {
  if (!impl_->forked) impl_->helper.count_armed(delta);
}

int Device::wait(pollfd* fds, size_t n, const timespec* max, int armed) {
  if (impl_->forked) return ::ppoll(fds, n, max, nullptr);
  bool work = false;
  int ready;
  {
    const Helper::StandIn stand_in(&impl_->helper, n, armed);
    ready = stand_in ? impl_->wait(stand_in, fds, n, max, &work) : ::ppoll(fds, n, max, nullptr);
  }
  if (work) try_progress();
  return ready;
}

bool Device::has_armed() const {
  return impl_->helper.armed();
}

bool Device::plane_enabled_locked(PlaneId plane) const {
  return impl_->planes_enabled.contains(plane);
}
void Device::enable_plane_locked(PlaneId plane, bool enabled) {
  impl_->set_plane_admin(clock_now(), plane, enabled);
}

Qpn Device::allocate_qpn_locked() {
  return impl_->qpns.take();
}
void Device::release_qpn_locked(Qpn qpn) {
  impl_->qpns.give(qpn);
}

Result<core::PeerId> Device::resolve_peer_locked(const IpAddress& dgid, Qpn dest_qpn) {
  Result<core::PeerDescription> peer = resolve_peer(impl_->config, impl_->slot, dgid, dest_qpn);
  if (peer) return impl_->endpoint->intern_peer(*peer);
  log_line(LogLevel::kError, peer.error().text);
  return std::move(peer).error();
}

void Device::release_peer_locked(core::PeerId peer) {
  impl_->release_peer(peer);
}

// A daemon that ends in between may or may not have executed the call; the result is EIO, and no call is repeated.
template <typename Attr, typename Local>
int DeviceImpl::modify(uint64_t id, const Attr& attr, int mask, const Local& local) {
  if (!forked && shared.shared()) return shared.modify(ctl::call_json(id, attr, mask));
  const DeviceLock lock(mutex);
  return local();
}
int Device::modify_format(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& attr, int mask) {
  return impl_->modify(id, attr, mask, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    return impl_->profiles.modify_format(id, attr, mask);
  });
}
int Device::modify_ev(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask) {
  return impl_->modify(id, attr, mask, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    const int error = impl_->profiles.modify_ev(id, attr, mask);
    // QPs that had no EV left have no timer either: a thread that sleeps until their completion waits for this call.
    transmit_locked();
    return error;
  });
}
int Device::modify_cc(uint64_t id, const mrc_ctl_cc_profile_attr& attr, int mask) {
  return impl_->modify(id, attr, mask, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    return impl_->profiles.modify_cc(id, attr, mask);
  });
}
int Device::enable_plane(PlaneId plane, bool up) {
  if (!impl_->forked && impl_->shared.shared()) return impl_->shared.modify_port(port_of(plane), up);
  const DeviceLock lock(impl_->mutex);
  enable_plane_locked(plane, up);
  transmit_locked();
  return 0;
}
bool Device::shares_state() const {
  return !impl_->forked && impl_->shared.shared();
}
DeviceProfiles& Device::profiles() {
  return impl_->profiles;
}
const core::CongestionConfig& Device::congestion() const {
  return impl_->endpoint_config.congestion;
}

void Device::add_observer(DeviceObserver* observer) {
  const DeviceLock lock(impl_->mutex);
  impl_->observers.push_back(observer);
}

void Device::remove_observer(DeviceObserver* observer) {
  const DeviceLock lock(impl_->mutex);
  impl_->observers.erase(std::remove(impl_->observers.begin(), impl_->observers.end(), observer),
                         impl_->observers.end());
}

void Device::stop() {
  impl_->stop();
}

}  // namespace mrc::device
