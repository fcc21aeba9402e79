#include "device/device_impl.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <random>
#include <sstream>

#include "device/log.h"

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
      planes(c.planes.begin(), c.planes.end()),
      staging_(std::make_unique<uint8_t[]>(core::kMaxBurstBytes + core::kHeaderRoom)) {
  tx_.always_staged = true;  // drivers and the kernel read no memory that may be gone [API-MEM-2]
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
  watch_links();
  if (helper.start(this, timing, fds, publisher.fd(), links.fd(), shared.fd(), inbox != nullptr ? inbox->fd() : -1))
    return {};
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
void DeviceImpl::on_memory_fault(Qpn qpn, const core::MemoryFault& fault) {
  try {
    const auto hex = [](uint64_t n) {
      std::ostringstream text;
      text << "0x" << std::hex << n;
      return text.str();
    };
    log_line(LogLevel::kError, "device '" + config.name + "': queue pair " + hex(qpn.value()) + " fails: address " +
                                   hex(fault.address) + " of the registered region " + hex(fault.region) + " of " +
                                   std::to_string(fault.length) + " bytes (key " + hex(fault.key.value()) +
                                   ") cannot be " + (fault.write ? "written" : "read") +
                                   " any more; deregister memory before it is unmapped, truncated or protected");
  } catch (const std::bad_alloc&) {
  }
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
      if (first_shard != nullptr) send_report(first_shard.get(), change);
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

}  // namespace mrc::device
