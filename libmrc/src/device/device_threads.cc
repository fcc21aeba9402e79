// The device and the threads that serve it: the helper, one that waits in its place, and the one that ends it.
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "device/device.h"

namespace mrc::device {

namespace {

constexpr Duration kLingerStep = Duration::milliseconds(1);
constexpr int kAckRepeats = 3;

}  // namespace

int Device::wait_fds(WaitFds* fds) {
  const DeviceLock lock(mutex_);
  return engine_.datapath->wait_fds(fds->data(), static_cast<int>(fds->size()));
}

Status Device::start_helper() {
  WaitFds descriptors;
  const int count = wait_fds(&descriptors);
  const std::vector<int> fds(descriptors.begin(), descriptors.begin() + count);
  shared_.start();
  const Settings& s = config().settings;
  const HelperTiming timing{Duration::microseconds(s.helper_idle_us), Duration::microseconds(s.helper_park_us),
                            Duration::microseconds(s.helper_spin_us)};
  {
    const DeviceLock lock(mutex_);
    planes_.watch_links();
  }
  Status started = helper_.start(this, timing, fds, publisher_.fd(), planes_.links().fd(), shared_.fd(), shards_.fd());
  if (!started) return std::move(started).error().under("cannot start the helper thread: ");
  return {};
}

int Device::serve() {
  if (!mutex_.try_lock()) return kBusy;
  const DeviceLock lock(mutex_, std::adopt_lock);
  return progress_.receive_and_send(now());
}

Instant Device::fall_asleep() {
  engine_.datapath->before_wait();
  const Instant at = progress_.deadline();
  progress_.sleep().begin(at);
  return at;
}

void Device::going_to_sleep() {
  const DeviceLock lock(mutex_);
  const Instant at = fall_asleep();
  helper_.set_wake(now(), at);
}

void Device::woke_up() {
  const DeviceLock lock(mutex_);
  if (progress_.sleep().finish(now())) engine_.datapath->after_wait();
}

// ppoll() takes the time: the timer would cost another system call. It is for the helper, where that sleeps still, and
// for an earlier time that the application's calls set meanwhile.
int Device::wait_in_place_of_helper(const StandIn& stand_in, pollfd* fds, size_t n, const timespec* max, bool* work) {
  struct Sleep {
    explicit Sleep(Device* d) : device(d) {
      const DeviceLock lock(device->mutex_);
      until = device->fall_asleep();
      device->helper_.set_wake(device->now(), device->progress_.sleep().both_sleep() ? until : Instant::never());
    }
    ~Sleep() { device->woke_up(); }
    Device* const device;
    Instant until;
  } const sleep(this);
  return stand_in.wait(fds, n, max, sleep.until, work);
}

void Device::links_changed() {
  const PlaneSet linked = planes_.links().read();
  const DeviceLock lock(mutex_);
  const Instant at = now();
  progress_.attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { planes_.on_links(at, linked); });
  progress_.transmit(at);
}

// What the other engines of this device report. An EV that the profile does not have here is one of the reporting
// engine alone, as those of an automatic profile are. Of the others this engine may know already, by its own
// observation or from mrcd: then there is no change.
void Device::take_ev_report(const ctl::EvChange& change) {
  const ctl::EvProfile* profile = profiles_.store().ev(change.profile_id);
  if (profile == nullptr) return;
  mrc_ctl_ev_state known;
  if (profile->table().state_of(change.ev, &known) != 0)
    observers_.on_ev_change(change);
  else
    take_ev_change_locked(change.profile_id, change.ev, change.state, change.losses);
}

void Device::take_shard_reports() {
  const std::vector<ShardInbox::Report> reports = shards_.take();
  if (reports.empty()) return;
  const DeviceLock lock(mutex_);
  if (inherited_) return;
  const Instant at = now();
  for (const ShardInbox::Report& report : reports) {
    if (const auto* path = std::get_if<core::PathReport>(&report))
      progress_.attempt(
          [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { engine_.endpoint->on_path_failed(at, *path); });
    else
      take_ev_report(std::get<ctl::EvChange>(report));
  }
}

// A peer whose last acknowledgement was lost solicits it again and needs an answer (spec/clients.md rule 2): so this
// continues until no packet has arrived for a while. Slow peers get the acknowledgement again unsolicited [MRC-RSP-13].
void Device::linger() {
  const Instant begin = now();
  const Duration max = Duration::milliseconds(config().settings.linger_ms);
  const Duration quiet = Duration::milliseconds(config().settings.linger_quiet_ms);
  WaitFds fds;
  std::array<pollfd, std::tuple_size<WaitFds>::value> waits;
  const int count = wait_fds(&fds);
  for (int i = 0; i < count; ++i) waits[i] = {fds[i], POLLIN, 0};
  int repeats = 0;
  for (;;) {
    bool idle;
    Instant last_received;
    {
      const DeviceLock lock(mutex_);
      engine_.datapath->after_wait();
      idle = progress_.receive_and_send(now()) == 0;
      last_received = progress_.last_received();
      if (idle) engine_.datapath->before_wait();
    }
    const Instant at = now();
    if (at - begin >= max || (idle && at - last_received >= quiet)) return;
    if (idle && repeats < kAckRepeats &&
        at - std::max(last_received, begin) >= quiet * (repeats + 1) / (kAckRepeats + 1)) {
      ++repeats;
      const DeviceLock lock(mutex_);
      progress_.attempt(
          [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { engine_.endpoint->repeat_acks(at, begin - max); });
      continue;
    }
    if (idle) clock_.wait(waits.data(), static_cast<nfds_t>(count), kLingerStep);
  }
}

void Device::stop() {
  if (inherited_ || stopping_.exchange(true)) return;
  helper_.stop();
  publisher_.close();
  shared_.stop();
  bool made = false;  // otherwise make_endpoint() has failed
  {
    const DeviceLock lock(mutex_);
    progress_.sleep().forget();
    made = engine_.endpoint != nullptr;
    if (made)
      progress_.attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { engine_.endpoint->flush_all_acks(); });
  }
  if (made) linger();
  const DeviceLock lock(mutex_);
  progress_.end();
  if (engine_.trace != nullptr) engine_.trace->finish();
}

}  // namespace mrc::device
