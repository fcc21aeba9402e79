// Progress: receive, run due timers, send; in rounds, so that acknowledgements are sent while more data arrives, and
// bounded, so that a call returns under any load.
//
// Time is read when packets were received, again when they have been handled, and after every burst that is sent: round
// trip times are measured as close to the socket as possible. A call that finds nothing reads it once.
#include <algorithm>

#include "base/prefetch.h"
#include "device/device_impl.h"

namespace mrc::device {

int DeviceImpl::receive(Instant* now) {
  int n = 0;
  attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    n = datapath->rx_burst(*now, rx_.data(), batch(kRxBatch));
    while (const uint32_t pipe = datapath->take_ended_pipe()) endpoint->on_pipe_ended(pipe);
  });
  if (n == 0) return 0;
  *now = clock_now();
  last_rx_ = *now;
  for (int i = 0; i < n; ++i) {
    if (i + 1 < n) prefetch(rx_[i + 1].data, rx_[i + 1].segment_size);
    attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { endpoint->handle_rx(*now, rx_[i]); });
  }
  return n;
}

void DeviceImpl::hold(const core::TxBurst& burst) {
  std::unique_ptr<Held>& held = held_[burst.plane.value()];
  if (!held) held = std::make_unique<Held>();
  held->bytes.clear();
  held->bytes.reserve(burst.bytes);
  for (uint32_t i = 0; i < burst.iov_count; ++i) {
    const auto* p = static_cast<const uint8_t*>(burst.iov[i].iov_base);
    held->bytes.insert(held->bytes.end(), p, p + burst.iov[i].iov_len);
  }
  core::TxBurst& copy = held->burst;
  copy.flow = burst.flow;
  copy.plane = burst.plane;
  copy.ev_index = burst.ev_index;
  copy.hop_limit = burst.hop_limit;
  copy.segments = burst.segments;
  copy.segment_size = burst.segment_size;
  copy.bytes = burst.bytes;
  copy.iov_count = 1;
  copy.iov[0] = {held->bytes.data(), held->bytes.size()};
  held_planes_.insert(burst.plane);
}

void DeviceImpl::offer_held(Instant now) {
  for (const PlaneId p : held_planes_)
    if (datapath->planes_with_room().contains(p) && datapath->tx_one(now, held_[p.value()]->burst))
      held_planes_.erase(p);
}

int DeviceImpl::transmit(int max, Instant* now) {
  int sent = 0;
  more_to_send_ = true;
  if (*now < not_before_) return sent;
  attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    if (!held_planes_.empty()) offer_held(*now);
    while (sent < max) {
      const PlaneSet room = datapath->planes_with_room() - held_planes_;
      uint8_t* const best = datapath->staging();
      tx_.staging = best != nullptr ? best : staging_.get();
      if (room.empty() || !endpoint->poll_tx(*now, &tx_, room)) {
        more_to_send_ = false;
        break;
      }
      if (datapath->tx_one(*now, tx_))
        ++sent;
      else
        hold(tx_);
      *now = clock_now();
      if (const auto refused = datapath->take_too_long())
        endpoint->on_packet_too_long(*now, refused->plane, refused->to);
    }
    datapath->flush();
  });
  return sent;
}

// Runs timers only once the sockets are drained: the awaited ACK may be queued. A flood cannot stop them, and the time
// in which this process did not run does not count: what arrived meanwhile is queued.
void DeviceImpl::run_timers(Instant now, bool drained) {
  if (now < not_before_) return;
  attempt([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    const Instant due = endpoint->next_timeout();
    if (due <= now && (drained || now - std::max(due, endpoint->ran_since()) > kTimerPatience))
      endpoint->handle_timeout(now);
    if (datapath->next_timeout() <= now) datapath->tx_burst(now, nullptr, 0);
  });
}

// Finds the ends of pauses that this process did not choose: between calls, of which the helper's sleep until its time
// is no part, and within one.
void DeviceImpl::note_time(Instant now, Instant slept_until) {
  if (now - std::max(moved_until_, slept_until) > kTimerPatience) endpoint->on_resumed(now);
  moved_until_ = now;
}

int DeviceImpl::move(bool receiving, Instant now) {
  if (stopped.load(std::memory_order_relaxed) || forked) return 0;
  int moved = 0;
  note_time(now, wake_at_ == kAwake ? slept_until_ : Instant::from_ns(wake_at_));
  if (!receiving) {
    moved = transmit(batch(kTxAtPost), &now);
  } else {
    const int tx_batch = batch(kTxBatch);
    for (int round = 0; round < kRounds; ++round) {
      const int received = receive(&now);
      if (received > 0) now = clock_now();
      note_time(now, moved_until_);
      run_timers(now, received == 0);
      const int sent = transmit(tx_batch, &now);
      moved += received + sent;
      // Few bursts moved: the caller may have its completion, so another poll of empty sockets would only delay it. But
      // timers that are due wait for that poll.
      if (received <= 1 && sent < tx_batch && (received == 0 || endpoint->next_timeout() > now)) break;
    }
  }
  note_deadline(now);
  moved_until_ = now;
  return moved;
}

Instant DeviceImpl::deadline() const {
  if (more_to_send_) return std::max(Instant::from_ns(0), not_before_);
  return std::max(std::min(endpoint->next_timeout(), datapath->next_timeout()), not_before_);
}

// The helper sleeps until the last known deadline. When the application's calls set an earlier one, the helper's
// timer is moved, but not to before the application's next expected call: one system call
// at the first of many calls, and no wake-up of another thread.
void DeviceImpl::note_deadline(Instant now) {
  if (wake_at_ == kAwake) return;
  const Instant wanted = deadline();
  if (wanted.ns() >= wake_at_) return;
  const Instant patient = now + kComesBack;
  const Instant at = wanted < patient ? patient : wanted;
  if (at.ns() >= wake_at_) return;
  wake_at_ = at.ns();
  helper.set_wake(now, at);
}

int DeviceImpl::serve() {
  if (!mutex.try_lock()) return kBusy;
  const DeviceLock lock(mutex, std::adopt_lock);
  return move(true, clock_now());
}

Instant DeviceImpl::fall_asleep() {
  datapath->before_wait();
  const Instant at = deadline();
  ++sleepers_;
  wake_at_ = at.ns();
  return at;
}

void DeviceImpl::going_to_sleep() {
  const DeviceLock lock(mutex);
  const Instant at = fall_asleep();
  helper.set_wake(clock_now(), at);
}

void DeviceImpl::woke_up() {
  const DeviceLock lock(mutex);
  if (--sleepers_ > 0) {  // the other one sleeps until the same time, and may not have seen the timer expire
    helper.set_wake(clock_now(), Instant::from_ns(wake_at_));
    return;
  }
  datapath->after_wait();
  slept_until_ = std::min(Instant::from_ns(wake_at_), clock_now());
  wake_at_ = kAwake;
}

int DeviceImpl::wait(const Helper::StandIn& stand_in, pollfd* fds, size_t n, const timespec* max, bool* work) {
  // The call that waits takes the time, for which the timer would cost another one. The timer is for an earlier time
  // that the application's calls set meanwhile.
  struct Sleep {
    explicit Sleep(DeviceImpl* d) : device(d) {
      const DeviceLock lock(device->mutex);
      until = device->fall_asleep();
      device->helper.set_wake(clock_now(), device->sleepers_ > 1 ? until : Instant::never());
    }
    ~Sleep() { device->woke_up(); }
    DeviceImpl* const device;
    Instant until;
  } const sleep(this);
  return stand_in.wait(fds, n, max, sleep.until, work);
}

}  // namespace mrc::device
