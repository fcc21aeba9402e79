#include "device/helper.h"

#include <pthread.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <system_error>

#include "device/clock.h"
#include "device/signals.h"
#include "invariant.h"
#include "uncancelled.h"

namespace mrc::device {

bool helper_parks(const HelperView& view, const HelperTiming& timing) {
  if (view.stand_in_sleeps || view.now - view.last_stand_in_sleep < timing.park) return !view.other_thread_waits;
  if (view.armed || view.now - view.last_armed < timing.park) return false;
  return view.now - view.last_poll < timing.idle;
}

Status Helper::start(HelperWork* work, const HelperTiming& timing, const std::vector<int>& fds, int requests, int links,
                     int daemon, int shards) {
  work_ = work;
  timing_ = timing;
  timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  event_ = Wakeup::make();
  if (!timer_ || !event_) return failed_call("timer and event");
  if (Status opened = park_timer_.open(timing.park); !opened) return opened;
  for (const int fd : {park_timer_.fd(), event_.fd(), requests, links, daemon, shards, timer_.get()})
    fds_.push_back({fd, POLLIN, 0});
  for (int fd : fds) fds_.push_back({fd, POLLIN, 0});
  const SignalsBlocked inherited;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& e) {
    return failed_call("thread", e.code().value());
  }
  ::pthread_setname_np(thread_.native_handle(), "mrc-helper");
  started_.store(true);
  return {};
}

void Helper::stop() {
  if (!thread_.joinable()) return;
  const environment::Uncancelled now;
  started_.store(false);
  stopping_.store(true);
  event_.wake();
  thread_.join();
}

void Helper::count_armed(int delta) {
  last_armed_.store(clock_now().ns(), std::memory_order_relaxed);
  armed_cqs_.fetch_add(delta);
  check();
  if (delta < 0) return;
  // A stand-in arms before each of its waits; park_timer_ ends the sleep if it does not come back.
  if (stand_in_.is_calling_thread() && !must_serve(view())) return;
  wake_parked();
}

// With one disarmed twice, an armed CQ would count as none, and the helper would park while a thread waits for it.
void Helper::check() const {
  MRC_INVARIANT(armed_cqs_.load() >= 0);
}

void Helper::wake_parked() {
  if (parked_.load()) event_.wake();
}

// A timer that is set already and expires earlier stays: one early wake-up costs less than a system call for each
// sleep.
void Helper::set_wake(Instant now, Instant at) {
  if (timer_.get() < 0 || (timer_at_ > now && timer_at_ <= at)) return;
  timer_at_ = at;
  set_timer(timer_.get(), at);
}

HelperView Helper::view() const {
  HelperView v;
  v.armed = armed_cqs_.load() > 0;
  v.last_armed = Instant::from_ns(last_armed_.load(std::memory_order_relaxed));
  v.last_poll = Instant::from_ns(last_poll_.load(std::memory_order_relaxed));
  v.stand_in_sleeps = stand_in_.sleeps();
  v.last_stand_in_sleep = stand_in_.last_sleep();
  v.other_thread_waits = stand_in_.other_thread_waits();
  v.now = clock_now();
  return v;
}

// Waits on fds_[first] to fds_[last - 1], at least kEvent to kShards. `max` null: until one is readable.
void Helper::wait(size_t first, size_t last, const timespec* max) {
  const int n = ::ppoll(fds_.data() + first, last - first, max, nullptr);
  if (n <= 0) return;
  if ((fds_[kEvent].revents & POLLIN) != 0) event_.drain();
  if (((fds_[kRequests].revents | fds_[kDaemon].revents | fds_[kShards].revents) & POLLIN) != 0)
    work_->serve_requests();
  if ((fds_[kLinks].revents & POLLIN) != 0) work_->links_changed();
}

// One that begins to stand in after the first line leaves the last end of the sleep, which wakes the helper once more.
void Helper::park(Duration length) {
  if (stand_in_.sleeps()) park_timer_.disarm();
  parked_.store(true);
  const HelperView v = view();
  if (!v.stand_in_sleeps) park_timer_.arm(v.now, length);
  if (!must_serve(v) && !stopping_.load()) wait(kParkTimer, kTimer, nullptr);
  parked_.store(false);
}

// Spins a little before it stops: packets arrive in trains.
int Helper::serve(Instant since) {
  int moved = work_->serve();
  while (moved == 0 && !stopping_.load() && clock_now() - since < timing_.spin) moved = work_->serve();
  return moved;
}

void Helper::run() {
  int rounds = 0;
  Duration length = timing_.park;  // of the next sleep while parked
  while (!stopping_.load()) {
    constexpr timespec kNow{};
    if (++rounds % kRoundsPerRequestCheck == 0) wait(kEvent, kTimer, &kNow);
    const HelperView v = view();
    const int moved = helper_parks(v, timing_) ? HelperWork::kBusy : serve(v.now);
    if (moved == HelperWork::kBusy) {  // the application makes progress, or did recently
      park(length);
      length = std::min(length * 2, timing_.park * ParkTimer::kMaxParks);
      continue;
    }
    length = timing_.park;
    if (moved != 0 || stopping_.load()) continue;
    work_->going_to_sleep();
    wait(kEvent, fds_.size(), nullptr);
    work_->woke_up();
  }
}

}  // namespace mrc::device
