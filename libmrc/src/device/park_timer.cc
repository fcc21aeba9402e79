#include "device/park_timer.h"

#include <sys/timerfd.h>

#include <algorithm>

namespace mrc::device {

void set_timer(int timer, Instant at) {
  itimerspec spec{};  // disarmed
  const int64_t ns = std::max<int64_t>(at.ns(), 1);
  if (at < Instant::never()) spec.it_value = {ns / 1000000000, ns % 1000000000};
  ::timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, nullptr);
}

Status ParkTimer::open(Duration park) {
  park_ = park;
  length_.store(park.ns(), std::memory_order_relaxed);
  timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!timer_) return failed_call("timerfd_create");
  return {};
}

void ParkTimer::arm(Instant now, Duration length) {
  const Instant end = now + length;
  length_.store(length.ns(), std::memory_order_relaxed);
  end_.store(end.ns(), std::memory_order_relaxed);
  set_timer(fd(), end);
}

void ParkTimer::extend(Instant now) {
  const Instant end = Instant::from_ns(end_.load(std::memory_order_relaxed));
  if (end - now > park_ / 2) return;
  const Duration last = Duration::nanoseconds(length_.load(std::memory_order_relaxed));
  arm(now, std::min(last * 2, park_ * kMaxParks));
}

void ParkTimer::disarm() {
  set_timer(fd(), Instant::never());
  end_.store(kLongAgoNs, std::memory_order_relaxed);
}

}  // namespace mrc::device
