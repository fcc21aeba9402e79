#include "device/helper.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "device/clock.h"
#include "device/signals.h"

namespace mrc::device {

namespace {
constexpr int64_t kLongestNap = 4;  // parks

timespec timespec_of(int64_t ns) {
  return {ns / 1000000000, ns % 1000000000};
}

}  // namespace

bool helper_parks(const HelperView& view, const HelperTiming& timing) {
  if (view.armed || view.now - view.last_armed < timing.park) return false;
  return view.now - view.last_poll < timing.idle;
}

Helper::~Helper() {
  stop();
  if (timer_ >= 0) ::close(timer_);
  if (event_ >= 0) ::close(event_);
}

bool Helper::start(HelperWork* work, const HelperTiming& timing, const std::vector<int>& fds, int ask, int links,
                   int daemon) {
  work_ = work;
  timing_ = timing;
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (timer_ < 0 || event_ < 0) return false;
  fds_ = {{timer_, POLLIN, 0}, {event_, POLLIN, 0}, {ask, POLLIN, 0}, {links, POLLIN, 0}, {daemon, POLLIN, 0}};
  for (int fd : fds) fds_.push_back({fd, POLLIN, 0});
  const SignalsBlocked inherited;
  try {
    thread_ = std::thread([this] { run(); });
    ::pthread_setname_np(thread_.native_handle(), "mrc-helper");
  } catch (const std::system_error& e) {
    errno = e.code().value();
  }
  return thread_.joinable();
}

void Helper::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_, &one, sizeof one);
  thread_.join();
}

void Helper::count_armed(int delta) {
  last_armed_.store(clock_now().ns(), std::memory_order_relaxed);
  // Either this sees the helper parked, or the helper, which checks again after setting the flag, sees the CQ armed.
  const int before = armed_.fetch_add(delta);
  if (before > 0 || delta < 0 || !parked_.load()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_, &one, sizeof one);
}

void Helper::set_wake(Instant at) {
  if (timer_ < 0) return;
  itimerspec spec{};  // disarmed
  if (at < Instant::never()) spec.it_value = timespec_of(std::max<int64_t>(at.ns(), 1));
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

HelperView Helper::view() const {
  HelperView v;
  v.armed = armed_.load() > 0;
  v.last_armed = Instant::from_ns(last_armed_.load(std::memory_order_relaxed));
  v.last_poll = Instant::from_ns(last_poll_.load(std::memory_order_relaxed));
  v.now = clock_now();
  return v;
}

// Waits on fds_[first] and the following ones, at least kOwnFds. `max` null: until one is readable.
void Helper::wait(size_t first, size_t count, const timespec* max) {
  const int n = ::ppoll(fds_.data() + first, count - first, max, nullptr);
  if (n <= 0) return;
  if ((fds_[kEvent].revents & POLLIN) != 0) {
    uint64_t written;
    [[maybe_unused]] const ssize_t got = ::read(event_, &written, sizeof written);
  }
  if (((fds_[kAsk].revents | fds_[kDaemon].revents) & POLLIN) != 0) work_->answer();
  if ((fds_[kLinks].revents & POLLIN) != 0) work_->links_changed();
}

void Helper::park(Duration nap) {
  parked_.store(true);
  const timespec max = timespec_of(nap.ns());
  if (!armed() && !stopping_.load()) wait(kEvent, kOwnFds, &max);
  parked_.store(false);
}

// Spins a little before it stops: packets arrive in trains.
int Helper::serve(Instant since) {
  int moved = work_->serve();
  while (moved == 0 && !stopping_.load() && clock_now() - since < timing_.spin) moved = work_->serve();
  return moved;
}

void Helper::run() {
  int serves = 0;
  Duration nap = timing_.park;
  while (!stopping_.load()) {
    constexpr timespec kNow{};
    if (++serves % kServesPerLook == 0) wait(kEvent, kOwnFds, &kNow);
    const HelperView v = view();
    const int moved = helper_parks(v, timing_) ? HelperWork::kBusy : serve(v.now);
    if (moved == HelperWork::kBusy) {  // the application makes progress, or did recently
      park(nap);
      nap = std::min(nap * 2, timing_.park * kLongestNap);
      continue;
    }
    nap = timing_.park;
    if (moved != 0 || stopping_.load()) continue;
    work_->going_to_sleep();
    wait(kTimer, fds_.size(), nullptr);
    work_->woke_up();
  }
}

}  // namespace mrc::device
