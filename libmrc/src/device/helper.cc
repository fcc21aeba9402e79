#include "device/helper.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "device/clock.h"

namespace mrc::device {

namespace {
constexpr int64_t kLongestNap = 4;  // parks: each wake-up takes the processor from the thread that polls
}

bool helper_parks(const HelperView& view, const HelperTiming& timing) {
  if (view.armed || view.now - view.last_armed < timing.park) return false;
  return view.now - view.last_poll < timing.idle;
}

Helper::~Helper() {
  stop();
  if (timer_ >= 0) ::close(timer_);
  if (event_ >= 0) ::close(event_);
}

bool Helper::start(HelperWork* work, const HelperTiming& timing, const std::vector<int>& fds) {
  work_ = work;
  timing_ = timing;
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (timer_ < 0 || event_ < 0) return false;
  fds_ = {{timer_, POLLIN, 0}, {event_, POLLIN, 0}};
  for (int fd : fds) fds_.push_back({fd, POLLIN, 0});
  // The application's signal handlers are not to run on this thread.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
    ::pthread_setname_np(thread_.native_handle(), "mrc-helper");
  } catch (const std::system_error& e) {
    errno = e.code().value();
  }
  const int saved = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = saved;
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
  // Either this sees the helper parked, or the helper, which looks again after it has said so, sees the CQ armed.
  const int before = armed_.fetch_add(delta);
  if (before > 0 || delta < 0 || !parked_.load()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_, &one, sizeof one);
}

void Helper::set_wake(Instant at) {
  if (timer_ < 0) return;
  itimerspec spec{};
  if (at < Instant::never()) {  // else disarmed
    const int64_t ns = std::max<int64_t>(at.ns(), 1);
    spec.it_value.tv_sec = ns / 1000000000;
    spec.it_value.tv_nsec = ns % 1000000000;
  }
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

void Helper::wait(size_t fds) {
  const int n = ::poll(fds_.data(), fds, -1);
  if (n > 0 && (fds_[1].revents & POLLIN) != 0) {
    uint64_t count;
    [[maybe_unused]] const ssize_t got = ::read(event_, &count, sizeof count);
  }
}

void Helper::park(Instant until) {
  set_wake(until);
  parked_.store(true);
  if (!armed() && !stopping_.load()) wait(2);
  parked_.store(false);
}

void Helper::run() {
  Duration nap = timing_.park;
  while (!stopping_.load()) {
    HelperView v = view();
    if (helper_parks(v, timing_)) {
      park(v.now + nap);
      nap = std::min(nap * 2, timing_.park * kLongestNap);
      continue;
    }
    nap = timing_.park;
    // Spin a little before sleeping: packets come in trains.
    int moved = work_->serve();
    while (moved == 0 && !stopping_.load() && clock_now() - v.now < timing_.spin) moved = work_->serve();
    if (moved < 0) park(clock_now() + timing_.park);
    if (moved != 0 || stopping_.load()) continue;
    work_->going_to_sleep();
    wait(fds_.size());
    work_->woke_up();
  }
}

}  // namespace mrc::device
