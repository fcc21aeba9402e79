#include "device/device.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <new>
#include <nlohmann/json.hpp>
#include <random>

#include "ctl/call.h"
#include "device/device_impl.h"
#include "device/log.h"
#include "device/peers.h"

namespace mrc::device {

namespace {

constexpr int kLingerStepMs = 1;
constexpr int kAckRepeats = 3;

uint64_t random_key() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

}  // namespace

DeviceImpl::DeviceImpl(const DeviceConfig& c, std::unique_ptr<datapath::Datapath> d, PerEv<core::EvEntry> table,
                       uint8_t s, uint32_t m, std::vector<std::string> raise)
    : config(c),
      evs(std::move(table)),
      slot(s),
      mtu(m),
      advice(std::move(raise)),
      datapath(std::move(d)),
      qpns(s, static_cast<uint32_t>(c.settings.max_qps), random_key()),
      profiles(evs, static_cast<uint32_t>(c.planes.size()), naming_of(c.settings.ev_mode)),
      shared(this),
      staging_(std::make_unique<uint8_t[]>(core::kMaxBurstBytes + core::kHeaderRoom)) {
  tx_.staging = staging_.get();
}

DeviceImpl::~DeviceImpl() {
  stop();
}

int DeviceImpl::wait_fds(WaitFds* fds) {
  const DeviceLock lock(mutex);
  return datapath->wait_fds(fds->data(), static_cast<int>(fds->size()));
}

Status DeviceImpl::start_helper() {
  WaitFds descriptors;
  const int count = wait_fds(&descriptors);
  const std::vector<int> fds(descriptors.begin(), descriptors.begin() + count);
  shared.start();
  const Settings& s = config.settings;
  const HelperTiming timing{Duration::microseconds(s.helper_idle_us), Duration::microseconds(s.helper_park_us),
                            Duration::microseconds(s.helper_spin_us)};
  if (config.settings.watch_links) watch_links();
  if (helper.start(this, timing, fds, publisher.fd(), links.fd(), shared.fd())) return {};
  return Error{errno, "cannot start the helper thread"};
}

// A peer whose last acknowledgement was lost solicits it again and needs an answer (spec/clients.md rule 2): so this
// continues until no packet has arrived for a while. Slow peers get the acknowledgement again unsolicited [MRC-RSP-13].
void DeviceImpl::linger() {
  const Instant begin = clock_now();
  const Duration max = Duration::milliseconds(config.settings.linger_ms);
  const Duration quiet = Duration::milliseconds(config.settings.linger_quiet_ms);
  WaitFds fds;
  std::array<pollfd, std::tuple_size<WaitFds>::value> waits;
  const int count = wait_fds(&fds);
  for (int i = 0; i < count; ++i) waits[i] = {fds[i], POLLIN, 0};
  int repeats = 0;
  for (;;) {
    bool idle;
    Instant heard;
    {
      const DeviceLock lock(mutex);
      datapath->after_wait();
      idle = move(true, clock_now()) == 0;
      heard = last_rx_;
      if (idle) datapath->before_wait();
    }
    const Instant now = clock_now();
    if (now - begin >= max || (idle && now - heard >= quiet)) return;
    if (idle && repeats < kAckRepeats && now - std::max(heard, begin) >= quiet * (repeats + 1) / (kAckRepeats + 1)) {
      ++repeats;
      const DeviceLock lock(mutex);
      attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { endpoint->repeat_acks(now, begin - max); });
      continue;
    }
    if (idle) ::poll(waits.data(), static_cast<nfds_t>(count), kLingerStepMs);
  }
}

void DeviceImpl::stop() {
  if (forked || stopping.exchange(true)) return;
  helper.stop();
  publisher.close();
  shared.stop();
  bool made = false;  // otherwise make_endpoint() has failed
  {
    const DeviceLock lock(mutex);
    wake_at_ = kAwake;
    made = endpoint != nullptr;
    if (made) attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { endpoint->flush_all_acks(); });
  }
  if (made) linger();
  const DeviceLock lock(mutex);
  stopped.store(true);
  if (trace != nullptr) trace->finish();
}

bool DeviceImpl::on_completion(void* cookie, const core::Completion& c) {
  return static_cast<QpObserver*>(cookie)->on_completion(c);
}
void DeviceImpl::on_qp_event(void* cookie, core::AsyncEvent e) {
  static_cast<QpObserver*>(cookie)->on_event(e);
}
void DeviceImpl::on_port_event(PlaneId plane, core::AsyncEvent e) {
  for (DeviceObserver* observer : observers) observer->on_port_event(plane, e);
}
void DeviceImpl::on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt) {
  for (DeviceObserver* observer : observers) observer->on_endpoint_response(id, plane, rtt);
}
void DeviceImpl::on_ev_state(EvIndex ev_index, core::EvState to, uint64_t losses) {
  try {
    for (const ctl::EvChange& change : profiles.on_ev_state(ev_index, to, losses)) {
      shared.on_ev_change_locked(change);
      tell(change);
    }
  } catch (const std::bad_alloc&) {  // no event then: the state can still be queried
  }
}
void DeviceImpl::on_peer_addresses(core::PeerId peer) {
  try {
    shared.on_peer_addresses_locked(peer);
  } catch (const std::bad_alloc&) {  // denied paths towards it then wait for the next change
  }
}
void DeviceImpl::on_path_mtu(core::PeerId peer, PlaneId plane, uint32_t carries, uint32_t wanted) {
  try {
    const std::string to = endpoint->peer_description(peer).planes[plane].addr.to_string();
    log_once(LogLevel::kError, "device '" + config.name + "': plane " + std::to_string(port_of(plane)) + " to peer " +
                                   to + " carries packets of path MTU " + std::to_string(carries) + " and not of " +
                                   std::to_string(wanted) +
                                   ": queue pairs for which no other plane carries them fail with 'retries exceeded', "
                                   "new ones are offered " +
                                   std::to_string(carries) + "; raise the MTU along the path, or set mtu");
  } catch (const std::bad_alloc&) {
  }
}
void DeviceImpl::take_ev_change(uint64_t profile, const mrc_ctl_ev& ev, mrc_ctl_ev_state state, uint64_t losses) {
  std::optional<ctl::EvChange> change = profiles.feed(profile, ev, state);
  if (!change) return;
  change->losses = losses;
  tell(*change);
}
void DeviceImpl::tell(const ctl::EvChange& change) {
  if (!change.wanted) return;
  for (DeviceObserver* observer : observers) observer->on_ev_change(change, change.losses);
}

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
